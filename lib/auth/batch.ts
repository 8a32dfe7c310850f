import { Fault, isUnavailable } from "../platform/fault.ts";
import type { AuthDeps } from "./deps.ts";

/**
 * Runs work on one element of a batch. Returns the Fault of a refusal. Any other error is logged and becomes Fault
 * `internal`.
 */
export async function attempt<T>(work: () => Promise<T>, { log }: Pick<AuthDeps, "log">): Promise<T | Fault> {
  try {
    return await work();
  } catch (error) {
    if (error instanceof Fault) return error;
    log.error("failed", { error });
    return new Fault("internal", "Internal error.", { cause: error });
  }
}

/** Throws the first Fault `unavailable` of the results: a batch without storage fails as a whole, and is repeated. */
export function throwOutage(results: readonly unknown[]): void {
  const outage = results.find(isUnavailable);
  if (outage !== undefined) throw outage;
}
