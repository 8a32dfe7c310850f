import type { Log } from "../../log.ts";
import { SealError, type Sealer } from "../../seal.ts";
import type { Row, Table, Tables } from "../tables.ts";
import { forEachOf } from "./rows.ts";

export interface ResealReport {
  readonly rows: number;
  /** Rows whose sealed values were sealed anew. */
  readonly resealed: number;
  /** Rows with a value that does not open: told by an error event each. */
  readonly failed: number;
}

/**
 * Seals everything in these tables under the current version of the key (decision G8). Safe at any time beside the service, and to
 * repeat: each row is written by its version, and one that is current is left alone.
 */
export async function reseal(
  names: readonly string[],
  { tables, sealer, log }: { readonly tables: Tables; readonly sealer: Sealer; readonly log: Log },
): Promise<ResealReport> {
  const report = { rows: 0, resealed: 0, failed: 0 };
  for (const name of names) {
    const table = tables.table(name);
    await forEachOf(table.scan(), async row => {
      report.rows++;
      try {
        if (await resealRow(table, row, sealer)) report.resealed++;
      } catch (error) {
        if (!(error instanceof SealError)) throw error;
        report.failed++;
        log.error("reseal_failed", { table: name, partitionKey: row.partitionKey, rowKey: row.rowKey, error });
      }
    });
    log.info("reseal_progress", { table: name, ...report });
  }
  return report;
}

/** @returns whether there was anything to seal anew */
async function resealRow(table: Table, read: Row, sealer: Sealer): Promise<boolean> {
  let row: Row | undefined = read;
  while (row !== undefined) {
    const { partitionKey, rowKey, etag } = row;
    const renewed = await renewedColumns(row, sealer);
    if (Object.keys(renewed).length === 0) return false;
    if ((await table.merge({ partitionKey, rowKey, ...renewed }, etag)) !== undefined) return true;
    row = await table.get(partitionKey, rowKey);
  }
  return false;
}

async function renewedColumns(row: Row, sealer: Sealer): Promise<Record<string, string>> {
  const renewed: Record<string, string> = {};
  for (const [column, value] of Object.entries(row)) {
    const text = typeof value === "string" ? await sealer.renew(value) : undefined;
    if (text !== undefined) renewed[column] = text;
  }
  return renewed;
}
