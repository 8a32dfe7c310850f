import { between } from "../../platform/time.ts";
import type { ConnectorDeps } from "../deps.ts";
import { takeEndOfPauses } from "../runs/peer-calls.ts";
import { isPastDeadline, type Run } from "../runs/run.ts";

/**
 * Does the work of a run. A timer run does it again for the peers that have asked to wait, when their wait is over, if
 * the time of the run allows.
 */
export async function continueAfterPauses(
  run: Run,
  { now, sleep }: Pick<ConnectorDeps, "now" | "sleep">,
  work: () => Promise<void>,
): Promise<void> {
  for (;;) {
    await work();
    const until = run.mode === "timer" ? takeEndOfPauses(run) : undefined;
    if (until === undefined || until >= run.endsAt) return;
    // It may be over, if the work at other peers took longer.
    if (until > now()) await sleep(between(now(), until));
    if (now() < until || isPastDeadline(run, { now })) return;
  }
}
