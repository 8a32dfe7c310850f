// Development tool: answers as Azure's host sends them (streaming off).
import type { ServerResponse } from "node:http";
import { finished } from "node:stream/promises";
import type { InvocationResponse, RpcCookie } from "./core-contract.ts";

/** An answer to send: the host's own, or a function's. */
export interface Answer {
  readonly status: number;
  readonly headers?: Readonly<Record<string, string>>;
  readonly cookies?: readonly string[];
  readonly body?: Uint8Array;
}

/** A function that returns nothing is answered 204. */
export function toAnswer({ returnValue }: InvocationResponse): Answer {
  const http = returnValue?.http;
  if (http === undefined) return { status: 204 };
  return {
    status: Number(http.statusCode),
    headers: http.headers,
    cookies: http.cookies.map(setCookie),
    ...(http.body?.bytes === undefined ? {} : { body: http.body.bytes }),
  };
}

/** Sends, and resolves when all is sent or the caller is gone. A body goes out chunked, whatever its length. */
export async function send(response: ServerResponse, answer: Answer): Promise<void> {
  let { body } = answer;
  try {
    response.statusCode = answer.status;
    for (const [name, value] of Object.entries(answer.headers ?? {})) response.setHeader(name, value);
    for (const cookie of answer.cookies ?? []) response.appendHeader("set-cookie", cookie);
  } catch {
    // A header that cannot be sent, as a cookie's name with a line break, is the function's failure.
    for (const name of response.getHeaderNames()) response.removeHeader(name);
    response.statusCode = 500;
    body = undefined;
  }
  if (body !== undefined && body.length > 0) response.write(body);
  response.end();
  await finished(response).catch(() => {});
}

function setCookie(cookie: RpcCookie): string {
  const { expires, maxAge, domain, path, secure, httpOnly, sameSite = "none" } = cookie;
  return [
    `${cookie.name}=${escapeAll(cookie.value)}`,
    expires && `expires=${new Date(expires.value.seconds * 1000).toUTCString()}`,
    maxAge && `max-age=${Math.trunc(maxAge.value)}`,
    domain && `domain=${domain.value}`,
    `path=${path?.value ?? "/"}`,
    secure?.value && "secure",
    sameSite !== "none" && `samesite=${sameSite === "explicitNone" ? "none" : sameSite}`,
    httpOnly?.value && "httponly",
  ]
    .filter(part => part)
    .join("; ");
}

/** Everything but RFC 3986 unreserved characters; `encodeURIComponent` alone leaves five more. */
const escapeAll = (value: string) =>
  encodeURIComponent(value).replace(/[!'()*]/g, mark => `%${mark.charCodeAt(0).toString(16).toUpperCase()}`);
