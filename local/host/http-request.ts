// Development tool: requests as Azure's host hands them to a function (streaming off).
import type { IncomingMessage } from "node:http";
import { buffer } from "node:stream/consumers";
import type { RpcHttpRequest } from "./core-contract.ts";

/** Bytes; one more and the real host answers 500. */
export const bodyLimit = 104_857_600;

/** Bytes of a request line; more is answered 414. */
export const requestLineLimit = 8192;

/** The target as sent. The address comes from the connection and `Host` alone: forwarding headers are headers like others. */
export interface Target {
  readonly url: string;
  readonly rawPath: string;
  readonly rawQuery: string;
}

/** `undefined` for what the real host answers 400: no plain path, other than ASCII, an encoded NUL in it, no usable `Host`. */
export function readTarget(request: IncomingMessage): Target | undefined {
  const target = request.url ?? "";
  const { host } = request.headers;
  const url = `http://${host}${target}`;
  if (host === undefined || !/^\/[\x21-\x7e]*$/.test(target) || /^[^?]*%00/.test(target) || !URL.canParse(url))
    return undefined;
  const [rawPath = "", ...query] = target.split("?");
  return { url, rawPath, rawQuery: query.join("?") };
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
  const headers = Object.entries(request.headersDistinct).map(
    ([name, values]) => [name, (values ?? []).join(",")] as const,
  );
  return {
    method: request.method ?? "GET",
    url: target.url,
    nullableHeaders: wrapped(headers),
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
