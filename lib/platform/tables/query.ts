import type { odata as quote, TableClient } from "@azure/data-tables";
import { isKey, type Row, toRow } from "./entity.ts";

/** Selects rows of one partition. Row keys are compared by UTF-16 units. */
export interface Filter {
  readonly partitionKey: string;
  /** First row key, included. */
  readonly from?: string;
  /** Last row key, excluded. */
  readonly before?: string;
  readonly rowKeyPrefix?: string;
  /** Only these row keys, at most 14. The service reads the whole partition for it, so the partition should be small. */
  readonly rowKeys?: readonly string[];
}

/** Selects rows of several partitions, sorted by partition key and row key. */
export interface Scan {
  /** Excluded. */
  readonly afterPartition?: string | undefined;
  /** Excluded. */
  readonly beforePartition?: string | undefined;
  readonly partitionPrefix?: string | undefined;
  readonly rowKeyPrefix?: string;
  /** Only these row keys, at most 12. */
  readonly rowKeys?: readonly string[];
}

/** The service accepts 15 comparisons in a filter, one of which is that of the partition. */
export const maxRowKeys = 14;

export interface PageOptions {
  /** Maximum number of rows of a page, at most 1,000. */
  readonly top: number;
  /** Of the previous page. */
  readonly continuation?: string | undefined;
  /** Properties to read; keys and ETag are always read. */
  readonly select?: readonly string[] | undefined;
}

/**
 * A page may have fewer rows than requested, even none, although more follow: a page never continues from one server of
 * the service to the next. Only the last page has no `continuation`.
 */
export interface RowPage {
  readonly rows: readonly Row[];
  readonly continuation?: string;
}

/** Reads one page. */
export async function readRowPage(
  client: TableClient,
  filter: Filter | Scan,
  { top, continuation, select }: PageOptions,
  abortSignal: AbortSignal,
): Promise<RowPage> {
  if ("partitionKey" in filter && !isKey(filter.partitionKey)) return { rows: [] };
  const { odata } = await import("@azure/data-tables");
  const clauses = "partitionKey" in filter ? toOData(filter, odata) : scanToOData(filter, odata);
  const queryOptions = {
    ...(clauses === undefined ? {} : { filter: clauses }),
    ...(select === undefined ? {} : { select: ["partitionKey", "rowKey", ...select] }),
  };
  const pages = client.listEntities({ queryOptions, abortSignal }).byPage({
    maxPageSize: Math.min(top, 1000),
    ...(continuation === undefined ? {} : { continuationToken: continuation }),
  });
  for await (const page of pages) {
    const next = page.continuationToken;
    return { rows: page.map(toRow), ...(next === undefined ? {} : { continuation: next }) };
  }
  return { rows: [] };
}

function toOData({ partitionKey, from, before, rowKeyPrefix, rowKeys }: Filter, odata: typeof quote): string {
  const clauses = [odata`PartitionKey eq ${partitionKey}`];
  if (from !== undefined) clauses.push(odata`RowKey ge ${from}`);
  if (before !== undefined) clauses.push(odata`RowKey lt ${before}`);
  if (rowKeyPrefix) clauses.push(odata`RowKey ge ${rowKeyPrefix}`, odata`RowKey lt ${following(rowKeyPrefix)}`);
  if (rowKeys !== undefined) {
    if (rowKeys.length > maxRowKeys) throw new TypeError(`A query can name at most ${maxRowKeys} row keys`);
    clauses.push(`(${rowKeys.map(key => odata`RowKey eq ${key}`).join(" or ")})`);
  }
  return clauses.join(" and ");
}

function scanToOData(scan: Scan, odata: typeof quote): string | undefined {
  const { afterPartition, beforePartition, partitionPrefix, rowKeyPrefix, rowKeys } = scan;
  const clauses: string[] = [];
  if (partitionPrefix) {
    clauses.push(odata`PartitionKey ge ${partitionPrefix}`, odata`PartitionKey lt ${following(partitionPrefix)}`);
  }
  if (rowKeyPrefix) clauses.push(odata`RowKey ge ${rowKeyPrefix}`, odata`RowKey lt ${following(rowKeyPrefix)}`);
  if (afterPartition !== undefined) clauses.push(odata`PartitionKey gt ${afterPartition}`);
  if (beforePartition !== undefined) clauses.push(odata`PartitionKey lt ${beforePartition}`);
  if (rowKeys !== undefined) clauses.push(`(${rowKeys.map(key => odata`RowKey eq ${key}`).join(" or ")})`);
  return clauses.length === 0 ? undefined : clauses.join(" and ");
}

/** Returns the smallest string that is greater than all strings with this prefix. */
function following(prefix: string): string {
  const last = prefix.charCodeAt(prefix.length - 1);
  if (last >= 0xd7ff) throw new TypeError("The prefix of a key must end below the surrogates");
  return prefix.slice(0, -1) + String.fromCharCode(last + 1);
}
