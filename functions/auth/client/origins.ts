import { Fault } from "../../../lib/fault.ts";
import type { Call, Reply } from "../../../lib/http/call.ts";

/**
 * Keeps pages of other origins out of the Client API (decision A15). Refuses a foreign `Origin`, `null` too, and a call that the
 * browser reports as sent by another site or by a sibling of this host, unless its origin is allowed. A call without `Origin`, as
 * a link or a picture makes it, names no page that could be allowed. Throws Fault `forbidden`.
 * @param own where callers see this deployment, besides the host that the call names
 * @returns headers for the answer to an allowed origin
 */
export function checkOrigin(
  { headers, url }: Call,
  allowed: readonly string[],
  own?: string,
): Readonly<Record<string, string>> {
  const origin = headers.get("origin") ?? undefined;
  if (origin !== undefined && allowed.includes(origin)) {
    return {
      "access-control-allow-origin": origin,
      "access-control-allow-credentials": "true",
      "access-control-expose-headers": "retry-after, x-request-id",
      vary: "Origin",
    };
  }
  const foreign = origin !== undefined && origin !== own && !isOwn(origin, headers.get("host") ?? url.host);
  const site = headers.get("sec-fetch-site") ?? undefined;
  if (foreign || (site !== undefined && site !== "same-origin" && site !== "none")) {
    throw new Fault("forbidden", "Pages of other origins may not call this API.");
  }
  return {};
}

/** The scheme is not compared: TLS ends before the app. */
const isOwn = (origin: string, host: string): boolean => URL.canParse(origin) && new URL(origin).host === host;

/** The answer to a CORS preflight of an allowed origin. */
export const preflight = (cors: Readonly<Record<string, string>>): Reply => ({
  status: 204,
  headers: {
    ...cors,
    "access-control-allow-methods": "GET, POST",
    "access-control-allow-headers": "content-type, x-service-session, x-request-id",
    "access-control-max-age": "600",
  },
});
