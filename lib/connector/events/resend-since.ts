import { Fault } from "../../platform/fault.ts";
import { withLogFields } from "../../platform/log.ts";
import { conflict, retryOnConflict } from "../../platform/stored.ts";
import type { Instant } from "../../platform/time.ts";
import type { ConnectorDeps } from "../deps.ts";
import { sortKeyOf } from "../model/request-lists.ts";
import { firstAttempt } from "../model/retry.ts";
import { requestStates } from "../model/states.ts";
import { logAndContinue } from "../runs/queue.ts";
import { isLeasedByAnother, isPastDeadline, startRun } from "../runs/run.ts";
import type { DeliverDeps } from "./deliver-events.ts";
import { eventsIn } from "./event.ts";
import { refuseIfStopped } from "./resend-event.ts";

type ResendDeps = DeliverDeps & Pick<ConnectorDeps, "requests">;

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
  { sink, since, after }: { readonly sink: number; readonly since: Instant; readonly after?: string | undefined },
  deps: ResendDeps,
): Promise<ResentSince> {
  const wanted = deps.sinks.find(({ number }) => number === sink);
  if (wanted === undefined) throw new Fault("not_found", "There is no such event sink.");
  await refuseIfStopped(wanted, deps);
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
      if (isPastDeadline(run, deps))
        return { ...counts, isComplete: false, ...(position !== undefined && { next: position }) };
      const events = await withLogFields({ credentialRequestId: requestId }, () =>
        resendOf(requestId, { sink, since }, run, deps).catch((error: unknown) => {
          logAndContinue(error, { sink, run: run.owner }, deps);
          return "left" as const;
        }),
      );
      if (events === "left") counts.left++;
      else if (events > 0) {
        counts.requests++;
        counts.events += events;
      }
      position = at;
    }
    if (page.length < pageSize) return { ...counts, isComplete: true };
  }
}

/** Returns the number of events of a request that are due again; `left` if they are being sent. */
const resendOf = (
  requestId: string,
  { sink, since }: { readonly sink: number; readonly since: Instant },
  run: ReturnType<typeof startRun>,
  { events, now }: ResendDeps,
): Promise<number | "left"> =>
  retryOnConflict(async () => {
    const { recorded, deliveries } = await events.load(requestId);
    const before = deliveries.get(sink);
    if (before === undefined) return 0;
    const { done, givenUp, ...delivery } = before.value;
    const again = eventsIn(requestId, recorded).filter(
      event => event.at >= since && event.sequence <= done && event.sinks.includes(sink),
    );
    const first = again[0]?.sequence;
    if (first === undefined) return 0;
    if (isLeasedByAnother(delivery.lease, run, now())) return "left";
    const saved = await events.saveDelivery(
      { requestId, sink, before },
      {
        ...delivery,
        done: first - 1,
        givenUp: givenUp.filter(sequence => sequence < first),
        retry: firstAttempt(now()),
      },
    );
    return saved === undefined ? conflict : again.length;
  });
