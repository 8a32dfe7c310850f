import { Fault } from "../../fault.ts";
import type { Log } from "../../log.ts";

/**
 * Runs what remains to be done after a change is made, and that readers or clean-up do too. If storage is unavailable,
 * logs `change_not_finished`: if the call failed, its repetition would find nothing to change, and the change would have no
 * audit event.
 */
export async function finishOrLog(log: Log, work: () => Promise<unknown>): Promise<void> {
  try {
    await work();
  } catch (error) {
    if (!(error instanceof Fault && error.kind === "unavailable")) throw error;
    log.warn("change_not_finished", { error });
  }
}
