import { longestMs } from "../../../commands/console/calls.ts";
import type { HttpAnswer, HttpCall } from "../../../commands/http-exchange.ts";

/** Headers of the browser's own connection, which the host must not see: it would refuse a page of another origin. */
const own = /^(host|connection|content-length|origin|referer|cookie|accept-encoding|sec-.*|x-scalar-.*)$/;

/**
 * Sends a call of the reference page to the host. The page names the address in `scalar_url`. Only the host is called.
 * @param gone when the page no longer waits
 */
export async function forward(call: HttpCall, host: string, gone: AbortSignal): Promise<HttpAnswer> {
  const { method, headers, body, query } = call;
  const target = query.get("scalar_url") ?? "";
  if (!URL.canParse(target) || new URL(target).origin !== host)
    return { status: 403, body: { error: `The reference calls the host ${host} only.` } };
  const sent = Object.entries(headers).flatMap(([name, value]) =>
    typeof value === "string" && !own.test(name) ? [[name, value] as const] : [],
  );
  const response = await fetch(target, {
    method,
    headers: Object.fromEntries(sent),
    redirect: "manual",
    signal: AbortSignal.any([gone, AbortSignal.timeout(longestMs)]),
    ...(body.length > 0 && { body: new Uint8Array(body) }),
  });
  // A cookie would become one of the console.
  const forwardedHeaders = [...response.headers].filter(
    ([name]) => !/^(set-cookie|content-length|content-encoding|transfer-encoding|connection|keep-alive)$/.test(name),
  );
  return {
    status: response.status,
    headers: Object.fromEntries(forwardedHeaders),
    body: Buffer.from(await response.arrayBuffer()),
  };
}
