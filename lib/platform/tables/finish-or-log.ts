import { isUnavailable } from "../fault.ts";
import type { Log } from "../log.ts";
import { RowError } from "./row-schema.ts";

/**
 * Runs the rest of a change that is already made: work that readers or clean-up do later if it is missing. If storage is
 * unavailable or a row cannot be read, logs `change_not_finished` or `row_failed` and does not throw: a caller who gets an error
 * repeats the change, the repetition finds nothing to change, and so the change would have no audit event.
 */
export async function finishOrLog(log: Log, work: () => Promise<unknown>): Promise<void> {
  try {
    await work();
  } catch (error) {
    if (error instanceof RowError) log.error("row_failed", { error });
    else if (isUnavailable(error)) log.warn("change_not_finished", { error });
    else throw error;
  }
}
