import type { Change, Range } from "./table-rows.ts";

/** A request of the Table protocol. */
export type TableRequest = CreateTable | GetRow | QueryRows | WriteRows;

interface CreateTable {
  readonly kind: "create table";
  readonly table: string;
}

interface GetRow {
  readonly kind: "get";
  readonly table: string;
  readonly partition: string;
  readonly rowKey: string;
}

export interface QueryRows {
  readonly kind: "query";
  readonly table: string;
  /** Undefined: all partitions between `afterPartition` and `beforePartition`. */
  readonly partition: string | undefined;
  /** Excluded. Undefined: from the beginning of the table. */
  readonly afterPartition: string | undefined;
  /** Excluded. Undefined: up to the end of the table. */
  readonly beforePartition: string | undefined;
  readonly range: Range;
  /** Only these row keys. Undefined: all of the range. */
  readonly rowKeys: readonly string[] | undefined;
  readonly top: number;
  /** Where the page begins, from the previous page. */
  readonly next: { readonly partition: string; readonly rowKey: string } | undefined;
}

export interface WriteRows {
  readonly kind: "write" | "transaction";
  readonly table: string;
  readonly partition: string;
  readonly changes: readonly Change[];
}

export interface RawRequest {
  readonly method: string;
  /** Path and query. The path may begin with the account. */
  readonly url: string;
  /** With names in lower case. */
  readonly headers: Readonly<Record<string, string | undefined>>;
  readonly body: string;
}

/** Parses the subset of the protocol that `@azure/data-tables` uses for this project. Throws for anything else. */
export function readTableRequest(raw: RawRequest, account: string): TableRequest {
  const { pathname, searchParams } = new URL(raw.url, "http://tables");
  const path = decodeURIComponent(pathname).replace(`/${account}/`, "/").slice(1);
  if (path === "$batch") return readTransaction(raw.body, account);
  if (path === "Tables") return { kind: "create table", table: JSON.parse(raw.body).TableName };
  const [, table = "", keys] = /^(\w+)(?:\((.*)\))?$/s.exec(path) ?? [];
  if (keys === undefined || keys === "") {
    return raw.method === "GET" ? readQuery(table, searchParams) : readWrite(raw, table, undefined);
  }
  const [, partition = "", rowKey = ""] = /^PartitionKey='((?:[^']|'')*)',RowKey='((?:[^']|'')*)'$/s.exec(keys) ?? [];
  const named = { partition: unquoted(partition), rowKey: unquoted(rowKey) };
  return raw.method === "GET" ? { kind: "get", table, ...named } : readWrite(raw, table, named);
}

const unquoted = (text: string): string => text.replaceAll("''", "'");

const kinds: Readonly<Record<string, Change["kind"]>> = {
  POST: "insert",
  PUT: "replace",
  PATCH: "merge",
  MERGE: "merge",
  DELETE: "remove",
};

function readWrite(
  { method, headers, body }: RawRequest,
  table: string,
  named: { readonly partition: string; readonly rowKey: string } | undefined,
): WriteRows {
  const kind = kinds[method];
  if (kind === undefined) throw new Error(`${method} is not supported`);
  const { PartitionKey, RowKey, ...columns } = body === "" ? {} : JSON.parse(body);
  const { partition, rowKey } = named ?? { partition: String(PartitionKey), rowKey: String(RowKey) };
  return { kind: "write", table, partition, changes: [{ kind, rowKey, columns, etag: headers["if-match"] }] };
}

function readQuery(table: string, query: URLSearchParams): TableRequest {
  let partition: string | undefined;
  let beforePartition: string | undefined;
  let from = "";
  let before: string | undefined;
  let afterPartition: string | undefined;
  const whole = query.get("$filter") ?? "";
  const [, alternatives] = /\((RowKey eq '[^()]*)\)$/.exec(whole) ?? [];
  const rowKeys = alternatives?.split(" or ").map(each => unquoted(each.slice("RowKey eq '".length, -1)));
  const filter = alternatives === undefined ? whole : whole.slice(0, -alternatives.length - 2).replace(/ and $/, "");
  for (const clause of filter.matchAll(/(PartitionKey|RowKey) (eq|ge|gt|lt) '((?:[^']|'')*)'(?: and |$)|(.)/gs)) {
    const [, name, operator, quoted = "", other] = clause;
    const value = unquoted(quoted);
    if (other !== undefined) throw new Error(`The filter is not supported: ${filter}`);
    if (name === "PartitionKey" && operator === "eq") partition = value;
    else if (name === "PartitionKey" && operator === "lt") beforePartition = value;
    else if (name === "PartitionKey" && operator === "gt") afterPartition = value;
    else if (name === "PartitionKey" || operator === "gt") throw new Error(`The filter is not supported: ${filter}`);
    else if (operator === "ge") from = value > from ? value : from;
    else before = before === undefined || value < before ? value : before;
  }
  const nextPartition = query.get("NextPartitionKey");
  return {
    kind: "query",
    table,
    partition,
    afterPartition,
    beforePartition,
    range: { from, before },
    rowKeys,
    top: Math.min(1000, Number(query.get("$top") ?? 1000)),
    next: nextPartition === null ? undefined : { partition: nextPartition, rowKey: query.get("NextRowKey") ?? "" },
  };
}

/** Parses the one change set of a batch. */
function readTransaction(body: string, account: string): TableRequest {
  const parts = [...body.matchAll(/^(POST|PUT|PATCH|MERGE|DELETE) (\S+) HTTP\/1\.1\r\n((?:.+\r\n)*)\s*(\{.*\})?/gm)];
  const requests = parts.map(([, method = "", url = "", lines = "", content = ""]) => {
    const headers = Object.fromEntries(
      lines.split("\r\n").map(line => [line.split(":", 1)[0]?.toLowerCase(), line.slice(line.indexOf(":") + 1).trim()]),
    );
    return readTableRequest({ method, url, headers, body: content }, account);
  });
  const writes = requests.filter((request): request is WriteRows => request.kind === "write");
  const [first] = writes;
  if (first === undefined || writes.length !== requests.length) throw new Error("The batch is not supported");
  return { ...first, kind: "transaction", changes: writes.flatMap(({ changes }) => changes) };
}
