import * as z from "zod";
import { createHash } from "node:crypto";
import { chunksOf } from "../../platform/collections.ts";
import { rowColumns } from "../../platform/tables/row-columns.ts";
import { transactionSize } from "../../platform/tables/transaction.ts";
import { hours, plus } from "../../platform/time.ts";
import type { Hint } from "./hints.table.ts";
import { type AuthTables, schemaVersion } from "./tables.table.ts";

/** The queue of notices in the expiry index. */
export const noticeQueue = "notice";

/** Longer than any call takes. After that the writer of a hint has finished or crashed. */
const lookAfterMs = hours(1);

/** A hint that an unfinished call may leave, or with the id alone a user whose deletion it may leave unfinished. */
type Notice = Hint | { readonly id: number };

export const noticeColumns = rowColumns({ kind: "notice", version: schemaVersion }, () =>
  z.object({
    id: z.int().positive(),
    table: z.enum(["names", "index", "otpkeys"]).exactOptional(),
    partition: z.string().exactOptional(),
    row: z.string().exactOptional(),
  }),
);

/** Makes clean-up check hints an hour later. Call it before a hint is written or becomes wrong. */
export async function sendNotices(tables: AuthTables, notices: readonly Notice[]): Promise<void> {
  const hour = plus(tables.now(), lookAfterMs).slice(0, 13);
  const rows = new Map(
    notices.map(notice => {
      const value =
        "table" in notice
          ? { id: notice.id, table: notice.table, partition: notice.partitionKey, row: notice.rowKey }
          : { id: notice.id };
      // Hashed, because the key of an index row fills a key.
      const key = createHash("sha256").update(JSON.stringify(value), "utf8").digest("base64url");
      const rowKey = `${hour}_${key}`;
      return [rowKey, { upsert: { rowKey, ...noticeColumns.toColumns(value) } }] as const;
    }),
  );
  for (const some of chunksOf([...rows.values()], transactionSize)) await tables.expiry.transact(noticeQueue, some);
}
