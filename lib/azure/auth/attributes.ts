import { withAttribute, withoutAttribute } from "../../auth/model/attributes.ts";
import { accepted } from "../../auth/model/parsed.ts";
import type { AttributeOwner, AttributeStore, UserRef } from "../../auth/store.ts";
import { readAllRows } from "../tables/many.ts";
import { conflict, retryOnConflict } from "../tables/retry-on-conflict.ts";
import { attributeEntry, changeEntry, snapshotOf } from "./index/index-entries.ts";
import { ifMatches, locate } from "./index/locate.ts";
import { type AttributesOf, keyAttributes } from "./key-attributes.ts";
import { attributePrefix, attributesIn, headIn, ownerOf, userRow, valueIn } from "./rows/rows.ts";
import type { AuthTables } from "./rows/tables.ts";

/** The attributes of users and keys; through user and key they are the key's own (decision A14). */
export function attributeStore(shelves: AuthTables): AttributeStore {
  const of = (owner: AttributeOwner): AttributesOf =>
    owner.otpkey === undefined ? userAttributes(shelves, owner.user) : keyAttributes(shelves, owner.otpkey, owner.user);
  return {
    all: owner => of(owner).all(),
    get: (owner, key) => of(owner).get(key),
    set: (owner, key, value) => of(owner).set(key, value),
    remove: (owner, key) => of(owner).remove(key),
  };
}

function userAttributes(shelves: AuthTables, whom: UserRef): AttributesOf {
  const { users } = shelves;
  return {
    async all() {
      const at = await locate(shelves, whom);
      if (at === undefined) return undefined;
      const rows = await readAllRows(users.query({ partitionKey: at.handle }));
      const id = ownerOf(
        ifMatches(
          rows.find(({ rowKey }) => rowKey === userRow),
          at,
        ),
      );
      return id === undefined ? undefined : attributesIn(rows, id);
    },

    async get(key) {
      const at = await locate(shelves, whom);
      if (at === undefined) return undefined;
      const [user, row] = await Promise.all([
        users.get(at.handle, userRow),
        users.get(at.handle, attributePrefix + key),
      ]);
      const id = ownerOf(ifMatches(user, at));
      return id === undefined ? undefined : (valueIn(row, id) ?? null);
    },

    async set(key, value) {
      const at = await locate(shelves, whom);
      if (at === undefined) return undefined;
      return retryOnConflict(async () => {
        const ground = await snapshotOf(shelves, at, attributePrefix + key);
        if (ground === undefined) return undefined;
        const [head, was] = [headIn(ground.head, ground.id), valueIn(ground.row, ground.id)];
        if (was === value) return accepted(head);
        const next = withAttribute(head, key, was, value);
        if (!next.ok) return next;
        const change = {
          was: was === undefined ? undefined : attributeEntry(shelves, key, was),
          is: attributeEntry(shelves, key, value),
          head: next.value,
        };
        return (await changeEntry(shelves, ground, change)) ? next : conflict;
      });
    },

    async remove(key) {
      const at = await locate(shelves, whom);
      if (at === undefined) return false;
      return retryOnConflict(async () => {
        const ground = await snapshotOf(shelves, at, attributePrefix + key);
        if (ground === undefined) return false;
        const was = valueIn(ground.row, ground.id);
        if (was === undefined) return true;
        const head = withoutAttribute(headIn(ground.head, ground.id), key, was);
        const change = { was: attributeEntry(shelves, key, was), is: undefined, head };
        return (await changeEntry(shelves, ground, change)) ? true : conflict;
      });
    },
  };
}
