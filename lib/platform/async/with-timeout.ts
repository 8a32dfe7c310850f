import { raceAbort } from "./race-abort.ts";
import { withTimeoutSignal } from "./with-timeout-signal.ts";

/**
 * Runs `work` with a signal that fires after `timeoutMs` or when `outer` fires. Then rejects even if `work` ignores the signal, as
 * code of the identity SDK does that fetches a token.
 */
export async function withTimeout<T>(
  timeoutMs: number,
  work: (signal: AbortSignal) => Promise<T>,
  outer?: AbortSignal,
): Promise<T> {
  outer?.throwIfAborted();
  return withTimeoutSignal(timeoutMs, outer, signal => raceAbort(work(signal), signal));
}
