import * as z from "zod";
import { rowColumns } from "../platform/azure/row-columns.ts";
import type { Row } from "../platform/azure/tables.ts";
import { transactionSize } from "../platform/azure/transaction.ts";
import { chunksOf } from "../platform/collections.ts";
import { hashOf } from "../platform/crypto.ts";
import type { Immutable } from "../platform/stored.ts";
import { hourOf, hours, plus } from "../platform/time.ts";
import type { Attributes } from "./attributes/attributes.ts";
import type { User } from "./store.ts";
import { type AuthTables, idAtEnd, idKey, namePartition, nameRow, schemaVersion } from "./tables.table.ts";
import { foldUsername } from "./users/username.ts";

const id = z.int().positive();

/**
 * A row that says that a user may have a name, an attribute value or an OTP key. It is written before that is true and
 * removed after it has ended; the user's own rows decide (docs/storage-auth.md). `id` is that of the user.
 */
const hintSchema = z.object({
  table: z.enum(["names", "index", "otpkeys"]),
  partitionKey: z.string(),
  rowKey: z.string(),
  id,
});
export type Hint = Immutable<z.output<typeof hintSchema>>;

/** The row that leads from a name to a user. Its key makes the name unique. */
export const nameHint = (folded: string, id: number): Hint => ({
  table: "names",
  partitionKey: namePartition(folded),
  rowKey: nameRow,
  id,
});

/** Partition of the users sorted by name. */
export const byName = "name";

/** Bytes of a name in a row key: 480 characters in hex, which leaves room for the id in the 512 that a key can have. */
const maxNameBytes = 240;

/** Returns a folded name as the beginning of a row key: UTF-8 in hex, because row keys do not allow every character. */
export const nameKey = (folded: string): string =>
  Buffer.from(folded, "utf8").subarray(0, maxNameBytes).toString("hex");

/** The row of a user among the users sorted by name. */
export const listHint = (folded: string, id: number): Hint => ({
  table: "index",
  partitionKey: byName,
  rowKey: `${nameKey(folded)}-${idKey(id)}`,
  id,
});

/** Returns the partition of the users with an attribute value. Hashed, because a key limits length and characters. */
export const attributePartition = (key: string, value: string): string => hashOf(`${key}\0${value}`);

export const attributeHint = (key: string, value: string, id: number): Hint => ({
  table: "index",
  partitionKey: attributePartition(key, value),
  rowKey: idKey(id),
  id,
});

/** Beginning of the row keys of the users who may have an OTP key, in the partition of its prefix. */
export const holderPrefix = "user:";

export const holderHint = (prefix: string, id: number): Hint => ({
  table: "otpkeys",
  partitionKey: prefix,
  rowKey: holderPrefix + idKey(id),
  id,
});

/** Returns all hints of a user but the name row. */
export const indexHints = (
  { id, name, otpkeys }: Pick<User, "id" | "name" | "otpkeys">,
  attributes: Attributes,
): readonly Hint[] => [
  listHint(foldUsername(name), id),
  ...Object.entries(attributes).map(([key, value]) => attributeHint(key, value, id)),
  ...otpkeys.map(({ prefix }) => holderHint(prefix, id)),
];

/** Whether the attributes decide about a hint, and not the row `user`. */
export const isOfAttribute = ({ table, partitionKey }: Hint): boolean => table === "index" && partitionKey !== byName;

/** Returns whether a hint is true for the user as read. The attributes are not read for a hint of the row `user`. */
export function isTrueHint(hint: Hint, user: User, attributes: () => Attributes): boolean {
  const indexed = indexHints(user, isOfAttribute(hint) ? attributes() : {});
  return [nameHint(foldUsername(user.name), user.id), ...indexed].some(
    each => each.partitionKey === hint.partitionKey && each.rowKey === hint.rowKey,
  );
}

/** Returns the id of the user to whom a row of a hint leads. */
export const hintedId = (table: Hint["table"], row: Row): number =>
  table === "names" ? Number(row.id) : idAtEnd(row.rowKey);

/** Writes an index row, so that its version changes also if it is there already. */
export const writeHint = (tables: AuthTables, { table, partitionKey, rowKey }: Hint): Promise<string> =>
  tables[table].upsert({ partitionKey, rowKey, schema: schemaVersion });

/** Reads the row of a hint; undefined if there is none. */
export const readHint = (tables: AuthTables, { table, partitionKey, rowKey }: Hint): Promise<Row | undefined> =>
  tables[table].get(partitionKey, rowKey);

/** Removes the row of a hint. @param row as read; absent: in any version */
export const removeHint = (tables: AuthTables, hint: Hint, row?: Row): Promise<boolean> =>
  tables[hint.table].remove(hint.partitionKey, hint.rowKey, row?.etag);

/** The queue of notices in the expiry index. */
export const noticeQueue = "notice";

/** Longer than any call takes. After that the writer of a hint has finished or crashed. */
const lookAfterMs = hours(1);

/** A hint that an unfinished call may leave, or the id alone of a user whose deletion it may leave unfinished. */
export const noticeColumns = rowColumns({ kind: "notice", version: schemaVersion }, () =>
  z.object({ about: z.union([hintSchema, z.object({ id })]) }),
);

/** Makes clean-up check hints an hour later. Call it before a hint is written or becomes wrong. */
export async function sendNotices(
  tables: AuthTables,
  notices: readonly (Hint | { readonly id: number })[],
): Promise<void> {
  const hour = hourOf(plus(tables.now(), lookAfterMs));
  const rows = new Map(
    notices.map(about => {
      // Hashed, because the key of an index row fills a key.
      const rowKey = `${hour}_${hashOf(JSON.stringify(about))}`;
      return [rowKey, { upsert: { rowKey, ...noticeColumns.toColumns({ about }) } }];
    }),
  );
  for (const some of chunksOf([...rows.values()], transactionSize)) await tables.expiry.transact(noticeQueue, some);
}
