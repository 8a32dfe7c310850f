import { type Instant, plus } from "../../platform/time.ts";
import type { AuthDeps } from "../deps.ts";
import { addressGroup, countAttempt, uncountAttempt } from "./address-limit.ts";
import { BusyFault, throttled } from "./throttle-attempt.ts";

/** An attempt that is counted against its caller's address (A12). */
export interface CountedAddress {
  /** Subtracts the attempt, because it succeeded or ended without a decision. Repeated calls subtract once. */
  uncount(): Promise<void>;
}

/**
 * Counts an attempt before any other work, so that an address over its limit costs no more than one read. Returns undefined
 * if addresses are not limited, if this one is on the allow-list, or if it is unknown.
 * Throws Fault `throttled` while the address must wait, `BusyFault` if too many attempts of it come at once.
 */
export async function countAddress(address: string | undefined, deps: AuthDeps): Promise<CountedAddress | undefined> {
  const { limits, isExempt } = deps.rules.address;
  const group = limits.attempts === 0 || address === undefined || isExempt(address) ? undefined : addressGroup(address);
  if (group === undefined) return undefined;
  const deadline = plus(deps.now(), deps.rules.slotWaitMs);
  for (;;) {
    const current = await deps.addresses.find(group);
    const attempt = countAttempt(current.value, deps.now(), limits);
    if (attempt.outcome === "waiting") throw throttled(attempt.retryAfter);
    const { next } = attempt;
    if ((await deps.addresses.save(current, next, plus(next.since, limits.windowMs))) !== undefined) {
      let done: Promise<void> | undefined;
      return {
        uncount: () => {
          done ??= uncount({ group, since: next.since }, deps);
          return done;
        },
      };
    }
    if (deps.now() > deadline) throw new BusyFault();
  }
}

/** Subtracts one attempt. If the window has rolled over there is nothing to subtract. */
async function uncount(
  { group, since }: { readonly group: string; readonly since: Instant },
  { addresses, rules }: AuthDeps,
): Promise<void> {
  for (;;) {
    const current = await addresses.find(group);
    if (current.value?.since !== since) return;
    const next = uncountAttempt(current.value);
    if ((await addresses.save(current, next, plus(next.since, rules.address.limits.windowMs))) !== undefined) return;
  }
}
