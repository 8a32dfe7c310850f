import { forEachConcurrently } from "../azure/row-batches.ts";
import type { Row, Table, Tables } from "../azure/tables.ts";
import type { Sealer } from "../crypto.ts";
import { isUnavailable } from "../fault.ts";
import type { Log } from "../log.ts";
import { conflict, retryOnConflict } from "../stored.ts";

/**
 * Seals every value in these tables under the current version of the key (G8). May be repeated, and run while the
 * service is running: each row is written by its ETag, and values of the current version are skipped. A row that fails
 * is counted and logged. Returns the version, and the numbers of all rows, of those with a value that was sealed again,
 * and of those that failed. Throws only Fault `unavailable`.
 */
export async function reseal(
  names: readonly string[],
  { tables, sealer, log }: { readonly tables: Tables; readonly sealer: Sealer; readonly log: Log },
) {
  // Read first: without a current version no row can be sealed.
  const version = await sealer.currentVersion();
  const report = { version, rows: 0, resealed: 0, failed: 0 };
  for (const name of names) {
    const table = tables.table(name);
    await forEachConcurrently(table.scan(), async row => {
      report.rows++;
      try {
        if (await resealRow(name, table, row, sealer)) report.resealed++;
      } catch (error) {
        if (isUnavailable(error)) throw error;
        report.failed++;
        log.error("reseal_failed", { table: name, partitionKey: row.partitionKey, rowKey: row.rowKey, error });
      }
    });
    log.info("reseal_progress", { table: name, ...report });
  }
  return report;
}

/** Seals the values of a row again. Returns whether there were any. */
async function resealRow(name: string, table: Table, read: Row, sealer: Sealer): Promise<boolean> {
  let row: Row | undefined = read;
  return retryOnConflict(async () => {
    if (row === undefined) return false;
    const { partitionKey, rowKey, etag } = row;
    const renewed = await renewedColumns(name, row, sealer);
    if (Object.keys(renewed).length === 0) return false;
    if ((await table.merge({ partitionKey, rowKey, ...renewed }, etag)) !== undefined) return true;
    row = await table.get(partitionKey, rowKey);
    return conflict;
  });
}

async function renewedColumns(table: string, row: Row, sealer: Sealer): Promise<Record<string, string>> {
  const context = { table, row: `${row.partitionKey}/${row.rowKey}` };
  const renewed: Record<string, string> = {};
  for (const [column, value] of Object.entries(row)) {
    const text = typeof value === "string" ? await sealer.renew(value, context) : undefined;
    if (text !== undefined) renewed[column] = text;
  }
  return renewed;
}
