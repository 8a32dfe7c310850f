// Development tool: requests as Azure's host passes them to a function without streaming.
import type { IncomingMessage } from "node:http";
import { buffer } from "node:stream/consumers";
import type { RpcHttpRequest } from "../core-contract.ts";
import type { Answer } from "./response.ts";
import { encodedAgain, routedPath } from "./route.ts";

/** In bytes; the real host responds 500 to a longer body. `FUNCTIONS_REQUEST_BODY_SIZE_LIMIT` replaces it. */
export const defaultBodyLimit = 104_857_600;

/** In bytes, without the line end; the response to a longer request line is 414. */
const requestLineLimit = 8190;

/** The response to more header lines is 431. */
const headerLineLimit = 100;

/** The target as a function gets it. Its address depends on the connection and `Host` only; forwarding headers have no effect. */
export interface Target {
  readonly url: string;
  /** The path that routes are matched with. */
  readonly path: string;
  readonly rawQuery: string;
  /** By lower-case name; repeated values are joined by a comma. */
  readonly headers: readonly (readonly [string, string])[];
}

const refused = (status: number): Answer => ({ status, headers: { connection: "close", "content-length": "0" } });

/** Returns the target, or the refusal of the real host. */
export function readTarget(request: IncomingMessage): Target | Answer {
  const { method, httpVersion } = request;
  const sent = request.url ?? "";
  if (httpVersion === "0.9") return refused(400);
  if (!["1.0", "1.1"].includes(httpVersion)) return refused(505);
  if (`${method} ${sent} HTTP/1.1`.length > requestLineLimit) return refused(414);
  if (request.rawHeaders.length / 2 > headerLineLimit) return refused(431);
  if (request.rawHeaders.some(text => text.includes("\0"))) return refused(400);
  const { host: hosts = [], "transfer-encoding": codings = [] } = request.headersDistinct;
  if (codings.some(coding => !/(?:^|,)\s*chunked\s*$/i.test(coding))) return refused(400);
  const [host] = hosts;
  if (host === "" || (host === undefined && httpVersion === "1.0")) return refused(500);
  if (host === undefined || hosts.length > 1 || !/^[^\s/\\?#@]+$/.test(host)) return refused(400);
  if ((method === "OPTIONS" && sent === "*") || method === "CONNECT") return refused(404);
  const target = relativeTarget(sent, host);
  if (!/^\/[\x21-\x7e]*$/.test(target) || /^[^?]*%00/.test(target)) return refused(400);
  const headers = readHeaders(request);
  if (headers === undefined) return refused(400);
  const [rawPath = "", ...query] = target.split("?");
  const path = routedPath(rawPath);
  const url = `http://${host}${[encodedAgain(path), ...query].join("?")}`;
  return URL.canParse(url) ? { url, path, rawQuery: query.join("?"), headers } : refused(400);
}

/** A target may be an absolute address of the host that the request is sent to. */
const relativeTarget = (target: string, host: string): string => {
  const origin = `http://${host}`;
  return target.toLowerCase().startsWith(`${origin.toLowerCase()}/`) ? target.slice(origin.length) : target;
};

/**
 * Returns the headers with their bytes read as UTF-8, as the real host does; undefined if one is not UTF-8. A length together with
 * chunks is renamed.
 */
function readHeaders({ headersDistinct }: IncomingMessage): Target["headers"] | undefined {
  const utf8 = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });
  const isChunked = headersDistinct["transfer-encoding"] !== undefined;
  try {
    return Object.entries(headersDistinct).map(([name, values = []]) => [
      isChunked && name === "content-length" ? "x-content-length" : name,
      utf8.decode(Buffer.from(values.join(","), "latin1")),
    ]);
  } catch {
    return undefined;
  }
}

/** Returns the bytes of the body; undefined if `Content-Length` exceeds the limit. Rejects if the caller disconnects. */
export async function readBody(request: IncomingMessage, bodyLimit: number): Promise<Uint8Array | undefined> {
  if (Number(request.headers["content-length"] ?? 0) > bodyLimit) return undefined;
  // A body that has arrived needs no reader, which costs more than the rest of a small request.
  return request.complete ? (request.read() ?? new Uint8Array()) : buffer(request);
}

/** Returns the body as a function gets it: a chunked body is dropped. */
export const readFunctionBody = (request: IncomingMessage, bodyLimit: number): Promise<Uint8Array | undefined> =>
  request.headers["transfer-encoding"] === undefined ? readBody(request, bodyLimit) : Promise.resolve(new Uint8Array());

export function toRpcRequest(
  request: IncomingMessage,
  target: Target,
  parameters: Readonly<Record<string, string>>,
  body: Uint8Array,
): RpcHttpRequest {
  return {
    method: request.method ?? "GET",
    url: target.url,
    nullableHeaders: wrapped(target.headers),
    nullableQuery: wrapped(queryMap(target.rawQuery)),
    nullableParams: wrapped(Object.entries(parameters)),
    ...(body.length === 0 ? {} : { body: { bytes: body } }),
  };
}

const wrapped = (entries: Iterable<readonly [string, string]>) =>
  Object.fromEntries(Array.from(entries, ([name, value]) => [name, { value }]));

/** Joins repeated names, ignoring case, by a comma. The first spelling of a name is kept. */
function queryMap(rawQuery: string): Iterable<readonly [string, string]> {
  const map = new Map<string, readonly [string, string]>();
  for (const [name, value] of new URLSearchParams(rawQuery)) {
    const known = map.get(name.toLowerCase());
    map.set(name.toLowerCase(), known === undefined ? [name, value] : [known[0], `${known[1]},${value}`]);
  }
  return map.values();
}
