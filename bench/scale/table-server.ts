// An account of Table storage in memory: the protocol as far as this project uses it, with the documented latency and
// limits. `test/bench/scale/table-server.test.ts` compares its answers with the emulator's.
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { text } from "node:stream/consumers";
import { setTimeout as wait } from "node:timers/promises";
import { emulatorAccount, storageConnectionString } from "../../local/peers/storage/storage.ts";
import { createMeter, documentedLimits, type Limits, type Meter } from "./meter.ts";
import { type QueryRows, readTableRequest, type TableRequest } from "./table-request.ts";
import { type Refusal, type StoredRow, type TableRows, tableRows } from "./table-rows.ts";

export interface TableServer {
  readonly connectionString: string;
  readonly meter: Meter;
  /** Returns the rows of a table, which is created if it does not exist. */
  table(name: string): TableRows;
  close(): Promise<void>;
}

export interface TableServerOptions {
  /** The bounds of the latency of each request, evenly distributed. */
  readonly latencyMs?: readonly [least: number, most: number];
  readonly limits?: Limits;
  /** The address of blobs in the connection string. */
  readonly blobUrl?: string;
}

interface Reply {
  readonly status: number;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: object | string;
}

/** Starts the server on a free port of the loopback. */
export async function startTableServer({
  latencyMs: [least, most] = [3, 10],
  limits = documentedLimits,
  blobUrl = "http://127.0.0.1:9",
}: TableServerOptions = {}): Promise<TableServer> {
  const tables = new Map<string, TableRows>();
  const meter = createMeter(limits, () => performance.now());
  const answer = async (request: IncomingMessage): Promise<Reply> => {
    const { method = "", url = "", headers } = request;
    const raw = { method, url, headers: { "if-match": headers["if-match"] }, body: await text(request) };
    const read = readTableRequest(raw, emulatorAccount.name);
    if (most > 0) await wait(least + Math.random() * (most - least));
    return serve(read, tables, meter);
  };
  const server = createServer({ keepAliveTimeout: 60_000 }, (request, response) => {
    answer(request).then(
      reply => send(response, reply),
      (error: Error) => send(response, errorReply(501, "NotImplemented", error.message)),
    );
  });
  await new Promise<void>(resolve => server.listen(0, "127.0.0.1", resolve));
  const tableUrl = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  return {
    connectionString: storageConnectionString(emulatorAccount, { tableUrl, blobUrl }),
    meter,
    table(name) {
      const rows = tables.get(name) ?? tableRows();
      tables.set(name, rows);
      return rows;
    },
    close: async () => {
      server.closeAllConnections();
      await new Promise(resolve => server.close(resolve));
    },
  };
}

function serve(request: TableRequest, tables: Map<string, TableRows>, meter: Meter): Reply {
  const { kind, table } = request;
  if (kind === "create table") {
    if (tables.has(table)) return errorReply(409, "TableAlreadyExists");
    tables.set(table, tableRows());
    return { status: 204 };
  }
  const rows = tables.get(table);
  if (rows === undefined) return errorReply(404, "TableNotFound");
  const partition = request.partition ?? (request.kind === "query" ? request.next?.partition : undefined) ?? "";
  const changes = "changes" in request ? request.changes : undefined;
  const counted = {
    kind: (kind === "write" && changes?.[0]?.kind) || kind,
    table,
    partition,
    rows: changes?.length ?? 1,
  };
  if (!meter.admit(counted)) return errorReply(503, "ServerBusy");
  if (request.kind === "query")
    return request.partition === undefined ? scanReply(request, rows) : queryReply(request, rows, request.partition);
  if (request.kind === "get") {
    const row = rows.get(partition, request.rowKey);
    if (row === undefined) return errorReply(404, "ResourceNotFound");
    return { status: 200, headers: { etag: row.etag }, body: entityOf(partition, row) };
  }
  const result = rows.write(partition, request.changes);
  return kind === "transaction" ? transactionReply(result) : writeReply(result);
}

const entityOf = (partition: string, { rowKey, etag, columns }: StoredRow) => ({
  "odata.etag": etag,
  PartitionKey: partition,
  RowKey: rowKey,
  Timestamp: "2026-01-01T00:00:00.0000000Z",
  ...columns,
});

type Next = NonNullable<QueryRows["next"]>;

const pageReply = (value: readonly object[], next: Next | undefined): Reply => ({
  status: 200,
  headers: next
    ? { "x-ms-continuation-nextpartitionkey": next.partition, "x-ms-continuation-nextrowkey": next.rowKey }
    : {},
  body: { value },
});

/** Reads a page of one partition. */
function queryReply({ range, rowKeys, next, top }: QueryRows, rows: TableRows, partition: string): Reply {
  if (rowKeys !== undefined) throw new Error("A query of one partition by row keys is not supported");
  const found = rows.range(partition, { ...range, from: next?.rowKey ?? range.from }, top);
  return pageReply(
    found.rows.map(row => entityOf(partition, row)),
    found.next === undefined ? undefined : { partition, rowKey: found.next },
  );
}

/** A page of several partitions ends where those of a partition server end. Here each server has this many. */
const partitionsOfServer = 4;

/** Reads a page of several partitions. The first page is empty, as if the range began on a server without rows of it. */
function scanReply(request: QueryRows, rows: TableRows): Reply {
  const { afterPartition, beforePartition, rowKeys, next, top } = request;
  const isInRange = (key: string) =>
    (beforePartition === undefined || key < beforePartition) && (afterPartition === undefined || key > afterPartition);
  if (rowKeys !== undefined) return rowsOfKeys(request, rowKeys, rows, isInRange);
  const partitions = rows.partitions().filter(key => isInRange(key) && key >= (next?.partition ?? ""));
  const found: object[] = [];
  for (const [n, partition] of partitions.entries()) {
    const rowKey = partition === next?.partition ? next.rowKey : "";
    if (next === undefined || n === partitionsOfServer || found.length === top)
      return pageReply(found, { partition, rowKey });
    const page = rows.range(partition, { from: rowKey, before: undefined }, top - found.length);
    found.push(...page.rows.map(row => entityOf(partition, row)));
    if (page.next !== undefined) return pageReply(found, { partition, rowKey: page.next });
  }
  return pageReply(found, undefined);
}

/** Reads a page of the rows with some keys, of all partitions. */
function rowsOfKeys(
  { next, top }: QueryRows,
  rowKeys: readonly string[],
  rows: TableRows,
  isInRange: (key: string) => boolean,
): Reply {
  const found: object[] = [];
  for (const partition of rows.partitions().filter(key => isInRange(key) && key >= (next?.partition ?? ""))) {
    for (const rowKey of [...rowKeys].sort()) {
      if (partition === next?.partition && rowKey < next.rowKey) continue;
      const row = rows.get(partition, rowKey);
      if (row === undefined) continue;
      if (found.length === top) return pageReply(found, { partition, rowKey });
      found.push(entityOf(partition, row));
    }
  }
  return pageReply(found, undefined);
}

const isRefusal = (result: ReturnType<TableRows["write"]>): result is Refusal => "code" in result;

function writeReply(result: ReturnType<TableRows["write"]>): Reply {
  if (isRefusal(result)) return errorReply(result.status, result.code);
  const [etag] = result;
  return { status: 204, headers: etag === undefined ? {} : { etag } };
}

function transactionReply(result: ReturnType<TableRows["write"]>): Reply {
  const parts = isRefusal(result)
    ? [part(result.status, {}, JSON.stringify(errorBody(result.code, `${result.index}:${result.code}`)))]
    : result.map(etag => part(204, etag === undefined ? {} : { ETag: etag }, ""));
  return {
    status: 202,
    headers: { "content-type": "multipart/mixed; boundary=batchresponse_1" },
    body: [
      "--batchresponse_1",
      "Content-Type: multipart/mixed; boundary=changesetresponse_1\r\n",
      ...parts.map(each => `--changesetresponse_1\r\n${each}`),
      "--changesetresponse_1--",
      "--batchresponse_1--\r\n",
    ].join("\r\n"),
  };
}

function part(status: number, headers: Readonly<Record<string, string>>, body: string): string {
  const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}`);
  const head = ["Content-Type: application/http", "Content-Transfer-Encoding: binary\r\n", `HTTP/1.1 ${status} -`];
  return [...head, ...lines, "", body].join("\r\n");
}

const errorBody = (code: string, message: string) => ({
  "odata.error": { code, message: { lang: "en-US", value: message } },
});

const errorReply = (status: number, code: string, message = code): Reply => ({
  status,
  body: errorBody(code, message),
});

function send(response: ServerResponse, { status, headers = {}, body }: Reply): void {
  const content = body === undefined ? "" : typeof body === "string" ? body : JSON.stringify(body);
  response.writeHead(status, {
    ...(body !== undefined && { "content-type": "application/json;odata=minimalmetadata;charset=utf-8" }),
    ...(content !== "" && { "content-length": Buffer.byteLength(content) }),
    ...headers,
  });
  response.end(content);
}
