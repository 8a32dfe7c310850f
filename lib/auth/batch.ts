import { Fault, isUnavailable } from "../platform/fault.ts";
import type { Log } from "../platform/log.ts";

/** Work on the elements of a batch. */
export function createBatch(log: Log) {
  let outage: Fault | undefined;
  return {
    /**
     * Runs work on one element. Returns the Fault of a refusal. Any other error is logged and becomes Fault `internal`.
     * After an outage does nothing: without storage, the remaining elements would fail as well.
     */
    async run<T>(work: () => Promise<T>): Promise<T | Fault> {
      if (outage !== undefined) return outage;
      try {
        return await work();
      } catch (error) {
        const isFault = error instanceof Fault;
        if (!isFault) log.error("failed", { error });
        const fault = isFault ? error : new Fault("internal", "Internal error.", { cause: error });
        if (isUnavailable(fault)) outage ??= fault;
        return fault;
      }
    },
    /** Throws the first Fault `unavailable`: a batch without storage fails as a whole, and is repeated. */
    throwOutage(): void {
      if (outage !== undefined) throw outage;
    },
  };
}
