import type { Call } from "../call.ts";

/**
 * The caller's address: the `X-Forwarded-For` entry that lies as many hops back as proxies are ours (decision G7); the first, where
 * a caller went round some of them, so that nobody gets rid of an address that way. Undefined where there is none, or no proxy is
 * trusted: what a caller writes there itself is not believed.
 */
export function callerAddress({ headers }: Call, trustedProxies: number): string | undefined {
  if (trustedProxies === 0) return undefined;
  const entries = (headers.get("x-forwarded-for") ?? "").split(",").map(entry => entry.trim());
  return (entries.at(-trustedProxies) ?? entries[0]) || undefined;
}
