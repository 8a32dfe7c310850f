// Development tool: requests as Azure's host hands them to a function (streaming off).
import type { IncomingMessage } from "node:http";
import { buffer } from "node:stream/consumers";
import type { RpcHttpRequest } from "./core-contract.ts";
import { encodedAgain, routedPath } from "./route.ts";

/** Bytes; one more and the real host answers 500. */
export const bodyLimit = 104_857_600;

/** Bytes of a request line; more is answered 414. */
const requestLineLimit = 8170;

/** Lines of headers; that many are answered 431. */
const headerLineLimit = 100;

/** The target as a function gets it. The address comes from the connection and `Host` alone: forwarding headers are headers like others. */
export interface Target {
  readonly url: string;
  /** As routes see it. */
  readonly path: string;
  readonly rawQuery: string;
  /** By lower-case name, repeats joined by a comma. */
  readonly headers: readonly (readonly [string, string])[];
}

/** Returns what a function gets, or the status with which the real host refuses the request. */
export function readTarget(request: IncomingMessage): Target | number {
  const target = request.url ?? "";
  if (`${request.method} ${target} HTTP/1.1`.length > requestLineLimit) return 414;
  if (request.rawHeaders.length / 2 >= headerLineLimit) return 431;
  const { host: hosts = [] } = request.headersDistinct;
  const [host] = hosts;
  if (host === "") return 500;
  if (host === undefined || hosts.length > 1 || !/^[^\s/\\?#@]+$/.test(host)) return 400;
  if (!/^\/[\x21-\x7e]*$/.test(target) || /^[^?]*%00/.test(target)) return 400;
  const headers = readHeaders(request);
  if (headers === undefined) return 400;
  const [rawPath = "", ...query] = target.split("?");
  const path = routedPath(rawPath);
  const url = `http://${host}${[encodedAgain(path), ...query].join("?")}`;
  return URL.canParse(url) ? { url, path, rawQuery: query.join("?"), headers } : 400;
}

/** Returns the headers with their bytes read as UTF-8, as the real host does; undefined where one is not UTF-8. */
function readHeaders({ headersDistinct }: IncomingMessage): Target["headers"] | undefined {
  const utf8 = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });
  try {
    return Object.entries(headersDistinct).map(([name, values = []]) => [
      name,
      utf8.decode(Buffer.from(values.join(","), "latin1")),
    ]);
  } catch {
    return undefined;
  }
}

/** The body's bytes, or `undefined` where more are announced than the limit. Rejects when the caller goes away. */
export async function readBody(request: IncomingMessage): Promise<Uint8Array | undefined> {
  if (Number(request.headers["content-length"] ?? 0) > bodyLimit) return undefined;
  return buffer(request);
}

/** The body as a function gets it: one sent chunked does not reach it. */
export const readFunctionBody = (request: IncomingMessage): Promise<Uint8Array | undefined> =>
  request.headers["transfer-encoding"] === undefined ? readBody(request) : Promise.resolve(new Uint8Array());

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

/** Names without regard to letter case, spelt as at first; repeats joined by a comma. */
function queryMap(rawQuery: string): Iterable<readonly [string, string]> {
  const map = new Map<string, readonly [string, string]>();
  for (const [name, value] of new URLSearchParams(rawQuery)) {
    const known = map.get(name.toLowerCase());
    map.set(name.toLowerCase(), known === undefined ? [name, value] : [known[0], `${known[1]},${value}`]);
  }
  return map.values();
}
