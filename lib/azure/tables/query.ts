import type { odata as quote, TableClient } from "@azure/data-tables";
import { isKey, type Row, toRow } from "./entity.ts";

/** Rows of one partition; row keys compare by UTF-16 unit. */
export interface Filter {
  readonly partitionKey: string;
  /** The least row key. */
  readonly from?: string;
  /** The row key at which to stop; not itself found. */
  readonly before?: string;
  readonly rowKeyPrefix?: string;
}

export interface PageOptions {
  /** Most rows a page, at most 1,000. */
  readonly top: number;
  /** Of the page before. */
  readonly continuation?: string | undefined;
  /** Only these properties beside keys and etag. */
  readonly select?: readonly string[] | undefined;
}

/** A page may hold fewer rows than asked for, even none, though more follow: only a missing `continuation` is the end. */
export interface Page {
  readonly rows: readonly Row[];
  readonly continuation?: string;
}

/** @param filter undefined: the whole table */
export async function readPage(
  client: TableClient,
  filter: Filter | undefined,
  { top, continuation, select }: PageOptions,
  abortSignal: AbortSignal,
): Promise<Page> {
  if (filter !== undefined && !isKey(filter.partitionKey)) return { rows: [] };
  const { odata } = await import("@azure/data-tables");
  const queryOptions = {
    ...(filter === undefined ? {} : { filter: toOData(filter, odata) }),
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

function toOData({ partitionKey, from, before, rowKeyPrefix }: Filter, odata: typeof quote): string {
  const clauses = [odata`PartitionKey eq ${partitionKey}`];
  if (from !== undefined) clauses.push(odata`RowKey ge ${from}`);
  if (before !== undefined) clauses.push(odata`RowKey lt ${before}`);
  if (rowKeyPrefix) clauses.push(odata`RowKey ge ${rowKeyPrefix}`, odata`RowKey lt ${following(rowKeyPrefix)}`);
  return clauses.join(" and ");
}

/** The least string that is greater than all that begin with `prefix`. */
function following(prefix: string): string {
  const last = prefix.charCodeAt(prefix.length - 1);
  if (last >= 0xd7ff) throw new TypeError("A row key's prefix must end below the surrogates");
  return prefix.slice(0, -1) + String.fromCharCode(last + 1);
}
