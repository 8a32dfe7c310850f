import { withAttribute, withoutAttribute } from "../../auth/model/attributes.ts";
import { accepted } from "../../auth/model/parsed.ts";
import type { AttributeOwner, AttributeStore, UserRef } from "../../auth/store.ts";
import { conflict } from "../../retry-on-conflict.ts";
import type { Row } from "../tables/tables.ts";
import { attributeEntry, changeEntry } from "./index/index-entries.ts";
import { readAtUser } from "./index/locate-user.ts";
import { changeUser, isCurrent } from "./index/user-snapshot.ts";
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
      const read = (userHash: string) => Array.fromAsync(users.query({ partitionKey: userHash }));
      const found = await readAtUser(tables, userRef, read, rows => rows.find(({ rowKey }) => rowKey === userRow));
      const id = ownerOf(found?.user);
      return found === undefined || id === undefined ? undefined : attributesIn(found.result, id);
    },

    async get(key) {
      const read = (userHash: string) =>
        Promise.all([users.get(userHash, userRow), users.get(userHash, attributePrefix + key)]);
      const isFound = ([user, row]: readonly (Row | undefined)[]) => ownerOf(row) === ownerOf(user);
      const found = await readAtUser(tables, userRef, read, ([user]) => user, isFound);
      const id = ownerOf(found?.user);
      return found === undefined || id === undefined ? undefined : (valueIn(found.result[1], id) ?? null);
    },

    set: (key, value) =>
      changeUser(tables, userRef, attributePrefix + key, async snapshot => {
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
      }),

    remove: key =>
      changeUser(tables, userRef, attributePrefix + key, async snapshot => {
        if (snapshot === undefined) return false;
        const was = valueIn(snapshot.row, snapshot.id);
        if (was === undefined) return (await isCurrent(tables, snapshot)) || conflict;
        const head = withoutAttribute(headIn(snapshot.head, snapshot.id), key, was);
        const change = { was: attributeEntry(tables, key, was), is: undefined, head };
        return (await changeEntry(tables, snapshot, change)) ? true : conflict;
      }),
  };
}
