import { withAttribute, withoutAttribute } from "../../auth/model/attributes.ts";
import { accepted } from "../../auth/model/parsed.ts";
import type { AttributeOwner, AttributeStore, UserRef } from "../../auth/store.ts";
import { conflict, retryOnConflict } from "../../retry-on-conflict.ts";
import { readAllRows } from "../tables/row-batches.ts";
import { attributeEntry, changeEntry, readSnapshot } from "./index/index-entries.ts";
import { ifMatches, locateUser } from "./index/locate-user.ts";
import { type AttributesOf, keyAttributes } from "./key-attributes.ts";
import { attributePrefix, attributesIn, headIn, ownerOf, userRow, valueIn } from "./rows/rows.ts";
import type { AuthTables } from "./rows/tables.ts";

/** Stores the attributes of users and OTP keys. An owner with both user and OTP key means the OTP key's attributes (A14). */
export function attributeStore(tables: AuthTables): AttributeStore {
  const of = (owner: AttributeOwner): AttributesOf =>
    owner.otpkey === undefined ? userAttributes(tables, owner.user) : keyAttributes(tables, owner.otpkey, owner.user);
  return {
    all: owner => of(owner).all(),
    get: (owner, key) => of(owner).get(key),
    set: (owner, key, value) => of(owner).set(key, value),
    remove: (owner, key) => of(owner).remove(key),
  };
}

function userAttributes(tables: AuthTables, userRef: UserRef): AttributesOf {
  const { users } = tables;
  return {
    async all() {
      const at = await locateUser(tables, userRef);
      if (at === undefined) return undefined;
      const rows = await readAllRows(users.query({ partitionKey: at.userHash }));
      const id = ownerOf(
        ifMatches(
          rows.find(({ rowKey }) => rowKey === userRow),
          at,
        ),
      );
      return id === undefined ? undefined : attributesIn(rows, id);
    },

    async get(key) {
      const at = await locateUser(tables, userRef);
      if (at === undefined) return undefined;
      const [user, row] = await Promise.all([
        users.get(at.userHash, userRow),
        users.get(at.userHash, attributePrefix + key),
      ]);
      const id = ownerOf(ifMatches(user, at));
      return id === undefined ? undefined : (valueIn(row, id) ?? null);
    },

    async set(key, value) {
      const at = await locateUser(tables, userRef);
      if (at === undefined) return undefined;
      return retryOnConflict(async () => {
        const snapshot = await readSnapshot(tables, at, attributePrefix + key);
        if (snapshot === undefined) return undefined;
        const [head, was] = [headIn(snapshot.head, snapshot.id), valueIn(snapshot.row, snapshot.id)];
        if (was === value) return accepted(head);
        const next = withAttribute(head, key, was, value);
        if (!next.ok) return next;
        const change = {
          was: was === undefined ? undefined : attributeEntry(tables, key, was),
          is: attributeEntry(tables, key, value),
          head: next.value,
        };
        return (await changeEntry(tables, snapshot, change)) ? next : conflict;
      });
    },

    async remove(key) {
      const at = await locateUser(tables, userRef);
      if (at === undefined) return false;
      return retryOnConflict(async () => {
        const snapshot = await readSnapshot(tables, at, attributePrefix + key);
        if (snapshot === undefined) return false;
        const was = valueIn(snapshot.row, snapshot.id);
        if (was === undefined) return true;
        const head = withoutAttribute(headIn(snapshot.head, snapshot.id), key, was);
        const change = { was: attributeEntry(tables, key, was), is: undefined, head };
        return (await changeEntry(tables, snapshot, change)) ? true : conflict;
      });
    },
  };
}
