import type { Instant } from "../time.ts";
import { forEachDue, isOver, type Run, startRun } from "./due-work.ts";
import type { MailBrake } from "./key-hold.ts";
import type { ConnectorDeps, DueEntry } from "./ports.ts";
import type { Key } from "./request.ts";
import { settle } from "./settle.ts";
import { type KeyCounts, workKey } from "./work-key.ts";
import { keyOf } from "./write.ts";

export interface CredentialsReport extends KeyCounts {
  /** Requests not begun, or not finished, when the time budget ended. */
  readonly left: number;
}

/**
 * Settles what creators left behind, activates every due credential and sends the due PIN mails (decision C15).
 */
export async function processCredentialRequests(mode: Run["mode"], deps: ConnectorDeps): Promise<CredentialsReport> {
  const run = startRun(mode, deps);
  const brake: MailBrake = { stoppedUntil: undefined };
  const total = { processed: 0, activated: 0, failed: 0, pending: 0 };
  const unsettled = await forEachDue("settle", run, deps, loaded => settle(loaded, run, deps));
  let unfinished = 0;
  const unworked = await forEachDue("key", run, deps, async (start, entries) => {
    let loaded = start;
    for (const { keyId } of entries) {
      if (keyId === undefined) continue;
      if (isOver(run, deps)) break;
      const visit = await workKey(loaded, keyId, { run, brake }, deps);
      for (const name of ["processed", "activated", "failed", "pending"] as const) total[name] += visit.counts[name];
      loaded = visit.loaded;
    }
    const isLeft = ({ keyId }: DueEntry) => keyId !== undefined && isStillDue(keyOf(loaded, keyId), deps.now());
    if (isOver(run, deps) && entries.some(isLeft)) unfinished++;
  });
  return { ...total, left: unsettled + unworked + unfinished };
}

const isStillDue = ({ due }: Key, now: Instant): boolean => due?.queue === "key" && due.at <= now;
