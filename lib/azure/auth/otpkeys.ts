import type { OtpKey, OtpKeySummary, OtpKeys } from "../../auth/store.ts";
import { mapConcurrently, readAllRows } from "../tables/many.ts";
import { conflict, retryOnConflict } from "../tables/retry-on-conflict.ts";
import { parseRow } from "../tables/row-schema.ts";
import type { Row } from "../tables/tables.ts";
import { assignments } from "./assignments.ts";
import { spendOnce } from "./clean-up/expiry-index.ts";
import { sweepKey } from "./clean-up/sweep.ts";
import { listPage, markClean, markDirty, type Owners, removeListed, reserveId } from "./index/id-lists.ts";
import { assignmentEntry, referencedBy, removeIndexRow } from "./index/index-entries.ts";
import { assignmentOf, keyWithAttributes } from "./index/key-rows.ts";
import { listedKeySchema, prefixSchema } from "./rows/row-schemas.ts";
import { attributesIn, fromKeyRow, keyRow, ownerOf, toKeyColumns } from "./rows/rows.ts";
import type { AuthTables } from "./rows/tables.ts";

const list = "otpkeys";

export function otpKeyStore(shelves: AuthTables): OtpKeys {
  const { otpkeys } = shelves;

  /** The key and, by the same read, the index rows of the users who may have it. */
  const withHolders = async (prefix: string) => {
    const rows = await readAllRows(otpkeys.query({ partitionKey: prefix, from: keyRow }));
    return {
      key: rows.find(({ rowKey }) => rowKey === keyRow),
      holders: rows.filter(({ rowKey }) => rowKey !== keyRow),
    };
  };

  return {
    ...assignments(shelves),
    spend: (prefix, otpHash, until) => spendOnce(shelves, prefix, otpHash, until),

    async find(prefix) {
      const row = await otpkeys.get(prefix, keyRow);
      return row && fromKeyRow(row);
    },

    async findHolders(prefix) {
      const { key, holders } = await withHolders(prefix);
      if (key === undefined) return undefined;
      const fact = assignmentEntry(shelves, prefix, Number(ownerOf(key)));
      return { key: fromKeyRow(key), candidates: holders.map(row => ({ by: "handle", ...referencedBy(fact, row) })) };
    },

    async view(prefix, of) {
      const [assigned, rows] = await Promise.all([
        of && assignmentOf(shelves, of, prefix),
        keyWithAttributes(shelves, prefix),
      ]);
      const row = rows.find(({ rowKey }) => rowKey === keyRow);
      const id = ownerOf(row);
      if (row === undefined || id === undefined || assigned?.(id) === false) return undefined;
      return { key: fromKeyRow(row), attributes: attributesIn(rows, id) };
    },

    async create(given) {
      const { prefix, enabled } = given;
      const shown = { prefix, enabled };
      const [there, { id, version }] = await Promise.all([
        keyWithAttributes(shelves, prefix, ["schema", "id"]),
        reserveId(shelves, list, shown),
      ]);
      const key: OtpKey = { ...given, id, createdAt: shelves.now() };
      const isTaken = there.some(({ rowKey }) => rowKey === keyRow);
      const etag = isTaken ? undefined : await insertKey(shelves, key);
      if (etag === undefined) {
        await removeListed(shelves, list, id);
        return undefined;
      }
      const former = new Set(there.map(ownerOf).filter(owner => owner !== undefined));
      await Promise.all([
        markClean(shelves, list, { id, version, shown }),
        mapConcurrently([...former], owner => sweepKey(shelves, { prefix, id: owner })),
      ]);
      return { value: key, version: etag };
    },

    async save({ value: { id, prefix, enabled, createdAt }, version }, given) {
      const next: OtpKey = { ...given, id, prefix, createdAt };
      const shown = { prefix, enabled: next.enabled };
      const isShown = next.enabled === enabled;
      const opened = isShown ? undefined : await markDirty(shelves, list, id, shown);
      const etag = await otpkeys.replace({ partitionKey: prefix, rowKey: keyRow, ...toKeyColumns(next) }, version);
      if (etag === undefined) return undefined;
      if (opened !== undefined) await markClean(shelves, list, { id, version: opened, shown });
      return { value: next, version: etag };
    },

    async remove(prefix) {
      let removing: number | undefined;
      const id = await retryOnConflict(async () => {
        const { key, holders } = await withHolders(prefix);
        const there = ownerOf(key);
        if (key === undefined || there === undefined || (removing !== undefined && removing !== there)) return removing;
        const fact = assignmentEntry(shelves, prefix, there);
        // While there is a key, what users have of it is true: so it goes first. Nobody got it since, or the version has moved.
        const gone = await mapConcurrently(holders, holder =>
          removeIndexRow(shelves, fact, holder, { keepFact: false }),
        );
        if (gone.includes(false)) return conflict;
        removing = there;
        await markDirty(shelves, list, there, { prefix, enabled: key.enabled === true });
        return (await otpkeys.remove(prefix, keyRow, key.etag)) ? removing : conflict;
      });
      if (id === undefined) return false;
      await sweepKey(shelves, { prefix, id });
      return true;
    },

    list: range => listPage(shelves, list, listedKeys(shelves), range),
  };
}

/** @returns the etag; undefined where another has the prefix */
async function insertKey({ otpkeys }: AuthTables, key: OtpKey): Promise<string | undefined> {
  const etag = await otpkeys.insert({ partitionKey: key.prefix, rowKey: keyRow, ...toKeyColumns(key) });
  if (etag !== undefined) return etag;
  const there = await otpkeys.get(key.prefix, keyRow);
  // Our own, where the answer to the first try got lost.
  return ownerOf(there) === key.id ? there?.etag : undefined;
}

const listedKeys = ({ otpkeys, ...rest }: AuthTables): Owners<OtpKeySummary> => ({
  fromListed: row =>
    parseRow("list", row, listedKeySchema, { id: Number(row.rowKey), prefix: row.prefix, enabled: row.enabled }),
  find: async listed => {
    const row = await otpkeys.get(prefixIn(listed), keyRow);
    return ownerOf(row) === Number(listed.rowKey) ? row : undefined;
  },
  fromRow: row => {
    const { id, prefix, enabled } = fromKeyRow(row).value;
    return { id, prefix, enabled };
  },
  touch: async ({ partitionKey, etag, schema }: Row) =>
    (await otpkeys.merge({ partitionKey, rowKey: keyRow, schema: Number(schema) }, etag)) !== undefined,
  shown: row => ({ prefix: row.partitionKey, enabled: fromKeyRow(row).value.enabled }),
  sweep: row => sweepKey({ otpkeys, ...rest }, { prefix: prefixIn(row), id: Number(row.rowKey) }),
});

const prefixIn = (row: Row): string => parseRow("list", row, prefixSchema, row).prefix;
