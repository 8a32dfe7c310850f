// Development tool: responses as Azure's host sends them without streaming.
import type { ServerResponse } from "node:http";
import { finished } from "node:stream/promises";
import type { InvocationResponse, RpcCookie } from "../core-contract.ts";

/** A response of the host or of a function. */
export interface Answer {
  readonly status: number;
  readonly headers?: Readonly<Record<string, string>>;
  readonly cookies?: readonly string[];
  readonly body?: Uint8Array;
}

/** The response to a function without a result is 204. */
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

/** Sends a response. Resolves when all is sent or the caller has disconnected. A body is always sent chunked. */
export async function send(response: ServerResponse, answer: Answer): Promise<void> {
  let { body } = answer;
  try {
    response.statusCode = answer.status;
    for (const [name, value] of Object.entries(answer.headers ?? {})) response.setHeader(name, value);
    for (const cookie of answer.cookies ?? []) response.appendHeader("set-cookie", cookie);
  } catch {
    // The function has set a header that cannot be sent, such as a cookie with a line break in its name. Those before it stay.
    response.statusCode = 500;
    body = undefined;
  }
  if (body !== undefined && body.length > 0) response.write(body);
  response.end();
  await finished(response).catch(() => {});
}

function setCookie(cookie: RpcCookie): string {
  const { maxAge, path, secure, httpOnly, sameSite = "none" } = cookie;
  return [
    `${cookie.name}=${escapeAll(cookie.value)}`,
    maxAge && `max-age=${Math.trunc(maxAge.value)}`,
    `path=${path?.value ?? "/"}`,
    secure?.value && "secure",
    sameSite !== "none" && `samesite=${sameSite === "explicitNone" ? "none" : sameSite}`,
    httpOnly?.value && "httponly",
  ]
    .filter(part => part)
    .join("; ");
}

/** Encodes all characters except the unreserved ones of RFC 3986; `encodeURIComponent` leaves five more. */
const escapeAll = (value: string) =>
  encodeURIComponent(value).replace(/[!'()*]/g, mark => `%${mark.charCodeAt(0).toString(16).toUpperCase()}`);
