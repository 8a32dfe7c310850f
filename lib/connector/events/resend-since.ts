import { withLogFields } from "../../platform/log.ts";
import { conflict, retryOnConflict } from "../../platform/stored.ts";
import type { Instant } from "../../platform/time.ts";
import type { ConnectorDeps } from "../deps.ts";
import { sortKeyOf } from "../model/request-lists.ts";
import { firstAttempt } from "../model/retry.ts";
import { requestStates } from "../model/states.ts";
import { logAndContinue } from "../runs/queue.ts";
import { isLeasedByAnother, isPastDeadline, type RunState, startRun } from "../runs/run.ts";
import type { EventDeps } from "./deliver-events.ts";
import { findSink } from "./resend-event.ts";

/** The events of a sink that are sent again. */
interface EventsSince {
  readonly sink: number;
  readonly since: Instant;
}

/** The events that are due again. */
interface ResentSince {
  readonly requests: number;
  readonly events: number;
  /** Requests that were left, because their events were being sent or could not be read: a repeated call takes them. */
  readonly left: number;
  /** Whether every request was read. If not, a further call continues after `next`. */
  readonly isComplete: boolean;
  readonly next?: string;
}

const pageSize = 200;

/**
 * Makes the events of a sink due again that were recorded at `since` or later and are delivered or given up. The timer
 * sends them in the order of each request, under their ids. A repeat does the same again, so nothing is lost by a
 * crash. Reads every request once, because no index has events by time; ends at the deadline of a run. Throws Fault:
 * `not_found` for an unknown sink; `conflict` for one that answered 410.
 */
export async function resendSince(
  { after, ...wanted }: EventsSince & { readonly after?: string | undefined },
  deps: EventDeps & Pick<ConnectorDeps, "requests">,
): Promise<ResentSince> {
  const { sink } = wanted;
  await findSink(sink, deps);
  const run = startRun("on_demand", deps);
  const counts = { requests: 0, events: 0, left: 0 };
  let position = after;
  for (;;) {
    const ids = new Map<string, string>();
    // A request that changes its state enters its new list before it leaves the old one, so no request is missed.
    for (const state of requestStates)
      for (const entry of await deps.requests.entries({ state }, { after: position, top: pageSize }))
        ids.set(sortKeyOf(entry), entry.requestId);
    const page = [...ids].sort(([a], [b]) => (a < b ? -1 : 1)).slice(0, pageSize);
    for (const [at, requestId] of page) {
      if (isPastDeadline(run))
        return { ...counts, isComplete: false, ...(position !== undefined && { next: position }) };
      await withLogFields({ credentialRequestId: requestId }, async () => {
        try {
          const events = await makeDue(requestId, wanted, run);
          if (events === "left") counts.left++;
          else if (events > 0) counts.requests++;
          counts.events += events === "left" ? 0 : events;
        } catch (error) {
          logAndContinue(error, { sink, run: run.owner }, deps);
          counts.left++;
        }
      });
      position = at;
    }
    if (page.length < pageSize) return { ...counts, isComplete: true };
  }
}

/** Returns the number of events of a request that are due again; `left` if they are being sent. */
const makeDue = (
  requestId: string,
  { sink, since }: EventsSince,
  run: EventDeps & RunState,
): Promise<number | "left"> =>
  retryOnConflict(async () => {
    const { events, now } = run;
    const loaded = await events.load(requestId);
    const before = loaded.deliveries.get(sink);
    if (before === undefined) return 0;
    const { done, givenUp, ...delivery } = before.value;
    const again = loaded.events.filter(
      ({ at, sequence, sinks }) => at >= since && sequence <= done && sinks.includes(sink),
    );
    const [first] = again;
    if (first === undefined) return 0;
    if (isLeasedByAnother(delivery.lease, run)) return "left";
    const saved = await events.saveDelivery(requestId, sink, before, {
      ...delivery,
      done: first.sequence - 1,
      givenUp: givenUp.filter(sequence => sequence < first.sequence),
      retry: firstAttempt(now()),
    });
    return saved === undefined ? conflict : again.length;
  });
