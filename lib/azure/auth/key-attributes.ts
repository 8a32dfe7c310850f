import { type AttributeHead, withAttribute, withoutAttribute } from "../../auth/model/attributes.ts";
import { accepted, type Parsed } from "../../auth/model/parsed.ts";
import type { Attributes, UserRef } from "../../auth/store.ts";
import { conflict, retryOnConflict } from "../../retry-on-conflict.ts";
import type { Action } from "../tables/tables.ts";
import { keyWithAttributes, readAssignment } from "./index/key-rows.ts";
import { headAction, rowAction } from "./rows/row-actions.ts";
import {
  attributePrefix,
  attributesIn,
  headIn,
  headRow,
  keyRow,
  ownerOf,
  schemaVersion,
  valueIn,
} from "./rows/rows.ts";
import type { AuthTables } from "./rows/tables.ts";

/** Operations on the attributes of one owner, with the results of `AttributeStore`. */
export interface AttributesOf {
  all(): Promise<Attributes | undefined>;
  get(key: string): Promise<string | null | undefined>;
  set(key: string, value: string): Promise<Parsed<AttributeHead> | undefined>;
  remove(key: string): Promise<boolean>;
}

/** Opens the attributes of an OTP key. No filter uses them, so they have no index, and a change is one read and one write. */
export function keyAttributes(tables: AuthTables, prefix: string, of: UserRef | undefined): AttributesOf {
  const { otpkeys } = tables;
  const assignment = async () => (of === undefined ? () => true : readAssignment(tables, of, prefix));

  const read = async (key: string) => {
    const rowKey = attributePrefix + key;
    const [assigned, keyed, head, row] = await Promise.all([
      assignment(),
      otpkeys.get(prefix, keyRow),
      otpkeys.get(prefix, headRow),
      otpkeys.get(prefix, rowKey),
    ]);
    const id = ownerOf(keyed);
    if (keyed === undefined || id === undefined || !assigned(id)) return undefined;
    return { keyed, id, rowKey, row, head, was: valueIn(row, id), use: headIn(head, id) };
  };

  return {
    async all() {
      const [assigned, rows] = await Promise.all([assignment(), keyWithAttributes(tables, prefix)]);
      const id = ownerOf(rows.find(({ rowKey }) => rowKey === keyRow));
      return id !== undefined && assigned(id) ? attributesIn(rows, id) : undefined;
    },

    async get(key) {
      const [assigned, keyed, row] = await Promise.all([
        assignment(),
        otpkeys.get(prefix, keyRow),
        otpkeys.get(prefix, attributePrefix + key),
      ]);
      const id = ownerOf(keyed);
      return id !== undefined && assigned(id) ? (valueIn(row, id) ?? null) : undefined;
    },

    set: (key, value) =>
      retryOnConflict(async () => {
        const found = await read(key);
        if (found === undefined) return undefined;
        const { keyed, id, rowKey, row, head, was, use } = found;
        if (was === value) return accepted(use);
        const next = withAttribute(use, key, was, value);
        if (!next.ok) return next;
        // If the OTP key is deleted in the meantime, even if the prefix has a new one, this transaction or the deletion has a
        // conflict. So a row with another id belongs to a deleted OTP key and can be overwritten.
        const actions: Action[] = [
          { merge: { rowKey: keyRow, schema: schemaVersion }, etag: keyed.etag },
          headAction(head, id, next.value),
          rowAction(row, { rowKey, id, value }),
        ];
        return (await otpkeys.transact(prefix, actions)) ? next : conflict;
      }),

    remove: key =>
      retryOnConflict(async () => {
        const found = await read(key);
        if (found === undefined) return false;
        const { id, rowKey, row, head, was, use } = found;
        if (was === undefined || row === undefined) return true;
        const actions: Action[] = [
          headAction(head, id, withoutAttribute(use, key, was)),
          { remove: { rowKey }, etag: row.etag },
        ];
        return (await otpkeys.transact(prefix, actions)) ? true : conflict;
      }),
  };
}
