import type { odata as quote, TableClient, TableEntity } from "@azure/data-tables";

/** The value of a property. Table storage has no `null`: absent properties are left out. */
type Value = string | number | boolean;

/** A row to write: its two keys and its properties. Undefined properties are left out. */
export type Entity = {
  readonly partitionKey: string;
  readonly rowKey: string;
  readonly [property: string]: Value | undefined;
};

/** A row as read, with the ETag that a write must name. */
export type Row = Readonly<Record<string, unknown>> & {
  readonly partitionKey: string;
  readonly rowKey: string;
  readonly etag: string;
};

/** `%` is allowed, but the service decodes a key in the path of a call twice, so the call would find another row. */
const forbidden = /[/\\#?%\p{Cc}]/u;

/** Returns whether a row can have this key. A read by any other key finds nothing, instead of an error of storage. */
export const isKey = (key: string): boolean => key.length <= 512 && !forbidden.test(key) && key.isWellFormed();

/**
 * Converts a row to the SDK's form. Throws a `TypeError` that names the property if Table storage cannot store the
 * value. The emulator accepts several of these.
 */
export function toEntity({ partitionKey, rowKey, ...properties }: Entity): TableEntity {
  if (!isKey(partitionKey)) throw new TypeError("partitionKey cannot be a key in Table storage");
  if (!isKey(rowKey)) throw new TypeError("rowKey cannot be a key in Table storage");
  const entity: TableEntity = { partitionKey, rowKey };
  for (const [name, value] of Object.entries(properties)) {
    if (value === undefined || name === "etag") continue;
    if (!/^[A-Za-z_][A-Za-z0-9_]{0,254}$/.test(name)) throw new TypeError(`"${name}" cannot name a property`);
    entity[name] = toProperty(name, value);
  }
  return entity;
}

function toProperty(name: string, value: Value): unknown {
  const problem = (reason: string) => new TypeError(`Property "${name}": ${reason}`);
  switch (typeof value) {
    case "boolean":
      return value;
    case "string":
      if (value.length > 32_768) throw problem("more than 32,768 UTF-16 units; store it in a blob");
      if (!value.isWellFormed()) throw problem("ill-formed Unicode");
      return value;
    case "number":
      if (!Number.isFinite(value)) throw problem("not a finite number");
      if (Number.isInteger(value) && Math.abs(value) < 2 ** 31) return value;
      // Without a type the service reads whole numbers as 32 bits, too few for milliseconds since 1970.
      if (Number.isSafeInteger(value)) return { type: "Int64", value: String(value) };
      return { type: "Double", value };
    default:
      throw problem("not a string, number or boolean");
  }
}

/**
 * Converts a row from the SDK's form. Drops the protocol's fields. A 64-bit integer becomes a number if it is exact.
 */
export function toRow(entity: object): Row {
  const row: Record<string, unknown> = {};
  for (const [name, value] of Object.entries(entity)) {
    if (name.startsWith("odata.") || name === "timestamp" || value === null) continue;
    row[name] = typeof value === "bigint" && Number.isSafeInteger(Number(value)) ? Number(value) : value;
  }
  return row as Row;
}

/** Returns the ETag of a write. */
export function etagOf({ etag }: { etag?: string }): string {
  if (etag === undefined) throw new Error("Table storage returned no ETag for a write");
  return etag;
}

/** Returns the ETag. Throws TypeError for an empty one or `*`, with which the service would overwrite any version. */
export function checkedEtag(etag: string): string {
  if (!/^(W\/)?"[^"]+"$/.test(etag)) throw new TypeError("A conditional write needs the ETag of the row that was read");
  return etag;
}

/** Selects rows of one partition. Row keys are compared by UTF-16 units. */
export interface Filter {
  readonly partitionKey: string;
  /** First row key, included. */
  readonly from?: string | undefined;
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
  /** First row key of each partition, included. */
  readonly from?: string | undefined;
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

function toOData(filter: Partial<Filter> & Scan, odata: typeof quote): string {
  // The tag quotes a text only behind other text.
  const compared = (comparison: string, text: string | undefined) =>
    text === undefined ? [] : [comparison + odata` ${text}`];
  const beginsWith = (property: string, prefix = "") =>
    prefix === "" ? [] : [...compared(`${property} ge`, prefix), ...compared(`${property} lt`, following(prefix))];
  const clauses = [
    ...compared("PartitionKey eq", filter.partitionKey),
    ...beginsWith("PartitionKey", filter.partitionPrefix),
    ...compared("PartitionKey gt", filter.afterPartition),
    ...compared("PartitionKey lt", filter.beforePartition),
    ...compared("RowKey ge", filter.from),
    ...compared("RowKey lt", filter.before),
    ...beginsWith("RowKey", filter.rowKeyPrefix),
  ];
  const keys = filter.rowKeys?.flatMap(key => compared("RowKey eq", key));
  return [...clauses, ...(keys ? [`(${keys.join(" or ")})`] : [])].join(" and ");
}

/** Returns the smallest string that is greater than all strings with this prefix. */
function following(prefix: string): string {
  const last = prefix.charCodeAt(prefix.length - 1);
  if (last >= 0xd7ff) throw new TypeError("The prefix of a key must end below the surrogates");
  return prefix.slice(0, -1) + String.fromCharCode(last + 1);
}
