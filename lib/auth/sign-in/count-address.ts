import { Fault } from "../../fault.ts";
import { type Instant, plus } from "../../time.ts";
import type { AuthDeps } from "../deps.ts";
import { addressGroup, countAttempt, uncounted } from "../model/address-limit.ts";
import { Busy } from "./throttle-attempt.ts";

/** An attempt that is counted against its caller's address (decision A12). */
export interface CountedAddress {
  /** The attempt succeeded, or was none: it does not count. Once, however often it is asked for. */
  takeBack(): Promise<void>;
}

/**
 * Counts an attempt before anything else is done for it, so that an address that is over its limit costs nothing more.
 * Undefined where addresses are not limited, this one is spared, or there is none.
 * Throws Fault `throttled` while the address waits, or when too many of it come at once.
 */
export async function countAddress(address: string | undefined, deps: AuthDeps): Promise<CountedAddress | undefined> {
  const { limits, isSpared } = deps.rules.address;
  const group = limits.attempts === 0 || address === undefined || isSpared(address) ? undefined : addressGroup(address);
  if (group === undefined) return undefined;
  const patience = plus(deps.now(), deps.rules.busyMs);
  for (;;) {
    const standing = await deps.addresses.find(group);
    const attempt = countAttempt(standing.value, deps.now(), limits);
    if (attempt.outcome === "waiting") throw throttled(attempt.retryAfter);
    const { next } = attempt;
    if ((await deps.addresses.save(standing, next, plus(next.since, limits.windowMs))) !== undefined) {
      let taken: Promise<void> | undefined;
      return {
        takeBack: () => {
          taken ??= uncount({ group, since: next.since }, deps);
          return taken;
        },
      };
    }
    if (deps.now() > patience) throw new Busy();
  }
}

/** In another window than that which began then there is nothing to take back. */
async function uncount(
  { group, since }: { readonly group: string; readonly since: Instant },
  { addresses, rules }: AuthDeps,
): Promise<void> {
  for (;;) {
    const standing = await addresses.find(group);
    if (standing.value?.since !== since) return;
    const next = uncounted(standing.value);
    if ((await addresses.save(standing, next, plus(next.since, rules.address.limits.windowMs))) !== undefined) return;
  }
}

const throttled = (retryAfter: number): Fault =>
  new Fault("throttled", "Too many failed attempts. Try again later.", { retryAfter });
