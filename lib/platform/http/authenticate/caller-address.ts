import type { Call } from "../call.ts";

/**
 * Returns the caller's address: the `X-Forwarded-For` entry that the first trusted proxy wrote, counted from the end. If a caller
 * bypassed a proxy and there are fewer entries, returns the first entry, so that bypassing does not hide the address. Returns
 * undefined if there is no entry or no trusted proxy: a caller could write any address itself (G7). Azure's front end writes the port too,
 * which is left out: with it each connection would be another caller in logs.
 */
export function callerAddress({ headers }: Call, trustedProxies: number): string | undefined {
  if (trustedProxies === 0) return undefined;
  const entries = (headers.get("x-forwarded-for") ?? "").split(",").map(entry => entry.trim());
  return withoutPort(entries.at(-trustedProxies) ?? entries[0] ?? "") || undefined;
}

const withoutPort = (entry: string): string =>
  /^\[(.+)\](?::\d+)?$/.exec(entry)?.[1] ?? /^([^:]+):\d+$/.exec(entry)?.[1] ?? entry;
