import type { Instant } from "../../time.ts";
import type { ConnectorDeps, DueEntry } from "../deps.ts";
import { type Key, keyQueue } from "../model/request.ts";
import { forEachDue, isOver, passOver, type Run } from "../store/queue.ts";
import { keyOf } from "../store/save-request.ts";
import { type Brakes, type KeyCounts, workKey } from "./process-key.ts";

export interface KeysReport extends KeyCounts {
  /** Requests not begun, or not finished, when the time budget ended. */
  readonly left: number;
}

/** Polls due authenticators, activates the due credentials of a queue's keys and sends the due PIN mails (decision C15). */
export async function workKeys(
  queue: "key" | "shipment_key",
  { run, brakes }: { run: Run; brakes: Brakes },
  deps: ConnectorDeps,
): Promise<KeysReport> {
  const total = { processed: 0, activated: 0, failed: 0, pending: 0 };
  let unfinished = 0;
  const unworked = await forEachDue(queue, run, deps, async (start, entries) => {
    let loaded = start;
    for (const { keyId } of entries) {
      if (keyId === undefined) continue;
      if (isOver(run, deps)) break;
      try {
        const visit = await workKey(loaded, keyId, { run, brakes }, deps);
        for (const name of ["processed", "activated", "failed", "pending"] as const) total[name] += visit.counts[name];
        loaded = visit.loaded;
      } catch (error) {
        passOver(error, { queue, run: run.owner, keyId }, deps);
        loaded = (await deps.requests.load(loaded.request.value.id)) ?? loaded;
      }
    }
    const isLeft = ({ keyId }: DueEntry) => keyId !== undefined && isStillDue(keyOf(loaded, keyId), deps.now());
    if (isOver(run, deps) && entries.some(isLeft)) unfinished++;
  });
  return { ...total, left: unworked + unfinished };
}

const isStillDue = (key: Key, now: Instant): boolean => key.due?.queue === keyQueue(key) && key.due.at <= now;
