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
}

/** Selects rows of several partitions, sorted by partition key and row key. */
export interface Scan {
  /** Excluded. */
  readonly afterPartition?: string | undefined;
  /** Excluded. */
  readonly beforePartition?: string | undefined;
  readonly partitionPrefix?: string | undefined;
  readonly rowKeyPrefix?: string;
  /** Only these row keys, a few: the service accepts 15 comparisons in a filter. */
  readonly rowKeys?: readonly string[];
}

interface PageOptions {
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
  const clauses = toOData(filter, odata);
  const queryOptions = {
    ...(clauses !== "" && { filter: clauses }),
    ...(select !== undefined && { select: ["partitionKey", "rowKey", ...select] }),
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

function toOData(filter: Filter | Scan, odata: typeof quote): string {
  // The tag quotes a text only behind other text.
  const compared = (comparison: string, text: string | undefined) =>
    text === undefined ? [] : [comparison + odata` ${text}`];
  const beginsWith = (property: string, prefix = "") =>
    prefix === "" ? [] : [...compared(`${property} ge`, prefix), ...compared(`${property} lt`, following(prefix))];
  const clauses =
    "partitionKey" in filter
      ? [
          ...compared("PartitionKey eq", filter.partitionKey),
          ...compared("RowKey ge", filter.from),
          ...compared("RowKey lt", filter.before),
        ]
      : [
          ...beginsWith("PartitionKey", filter.partitionPrefix),
          ...compared("PartitionKey gt", filter.afterPartition),
          ...compared("PartitionKey lt", filter.beforePartition),
        ];
  clauses.push(...beginsWith("RowKey", filter.rowKeyPrefix));
  const keys = "rowKeys" in filter ? filter.rowKeys : undefined;
  if (keys !== undefined) clauses.push(`(${keys.flatMap(key => compared("RowKey eq", key)).join(" or ")})`);
  return clauses.join(" and ");
}

/** Returns the smallest string that is greater than all strings with this prefix. */
function following(prefix: string): string {
  const last = prefix.charCodeAt(prefix.length - 1);
  if (last >= 0xd7ff) throw new TypeError("The prefix of a key must end below the surrogates");
  return prefix.slice(0, -1) + String.fromCharCode(last + 1);
}
