import { Fault } from "../../../lib/platform/fault.ts";
import { type Call, type Reply, respond } from "../../../lib/platform/http/call.ts";
import { cameThroughProxy, notThroughProxy } from "../../../lib/platform/http/proxies.ts";
import type { ServeOptions } from "../../../lib/platform/http/serve.ts";
import { refuseClient } from "../errors.ts";

interface OriginRules {
  readonly rules: { readonly allowedOrigins: readonly string[] };
  /** The public origin of this deployment, in addition to the host of the call. */
  readonly publicOrigin?: string;
}

/**
 * Refuses calls of pages of other origins to the Client API (A15): a foreign `Origin`, including `null`, and a call
 * that the browser reports as cross-site or same-site, unless its origin is allowed. A call without `Origin`, such as a
 * link or an image, names no page that could be allowed. Throws Fault `forbidden`.
 * @returns headers of the response to an allowed origin
 */
export function checkOrigin(
  { headers, url }: Call,
  { rules: { allowedOrigins: allowed }, publicOrigin: own }: OriginRules,
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
  const isForeign = origin !== undefined && origin !== own && !isOwn(origin, headers.get("host") ?? url.host);
  const site = headers.get("sec-fetch-site") ?? undefined;
  if (isForeign || (site !== undefined && site !== "same-origin" && site !== "none")) {
    throw new Fault("forbidden", refusal, { reason: "other_origin" });
  }
  return {};
}

const refusal = "Pages of other origins may not call this API. To allow one, add its origin to CLIENT_ALLOWED_ORIGINS.";

/** Compares hosts only, not schemes, because TLS ends before the app. */
const isOwn = (origin: string, host: string): boolean => URL.canParse(origin) && new URL(origin).host === host;

const preflightHeaders = {
  "access-control-allow-methods": "GET, POST",
  "access-control-allow-headers": "content-type, x-service-session, x-service-device, x-request-id",
  "access-control-max-age": "600",
};

/**
 * Returns the handler of CORS preflights of the Client API (A15). It is there also if no foreign origin is allowed, so
 * that a refused preflight names the setting instead of being the host's 404.
 */
export const clientPreflight =
  (
    origins: OriginRules,
    options: Pick<ServeOptions<unknown>, "strictTransport" | "proxyProof">,
  ): ((call: Call) => Promise<Reply>) =>
  call =>
    respond(call, options, async () => {
      try {
        if (!cameThroughProxy(call, options.proxyProof)) throw notThroughProxy();
        return { status: 204, headers: { ...preflightHeaders, ...checkOrigin(call, origins) } };
      } catch (error) {
        if (error instanceof Fault) return refuseClient(error);
        throw error;
      }
    });
