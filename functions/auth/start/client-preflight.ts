import { Fault } from "../../../lib/platform/fault.ts";
import type { Call, Reply } from "../../../lib/platform/http/call.ts";
import { requireProxy } from "../../../lib/platform/http/proxies.ts";
import { respond } from "../../../lib/platform/http/respond.ts";
import type { ServeOptions } from "../../../lib/platform/http/serve.ts";
import { checkOrigin, preflight } from "../client/check-origin.ts";
import { refuseClient } from "../errors.ts";

interface PreflightOptions extends Pick<ServeOptions<unknown>, "strictTransport" | "proxyProof"> {
  /** Added to the message of a refusal: how to allow the origin. Absent in Azure. */
  readonly hint?: string | undefined;
}

/**
 * Returns the handler of CORS preflights of the Client API, or undefined if no foreign origin is allowed (A15). With a
 * hint there is always a handler, so that a refused preflight names the setting instead of being the host's 404.
 */
export function clientPreflight(
  allowed: readonly string[],
  { hint, ...options }: PreflightOptions,
): ((call: Call) => Promise<Reply>) | undefined {
  if (allowed.length === 0 && hint === undefined) return undefined;
  return call =>
    respond(call, options, async () => {
      try {
        requireProxy(call, options.proxyProof);
        return preflight(checkOrigin(call, allowed, { hint }));
      } catch (error) {
        if (error instanceof Fault) return refuseClient(error);
        throw error;
      }
    });
}
