import * as z from "zod";
import { rowColumns } from "../../platform/azure/row-columns.ts";
import type { Tables } from "../../platform/azure/tables.ts";
import type { Log } from "../../platform/log.ts";
import type { PeerFailure } from "../../platform/peer-failure.ts";
import { conflict, type Immutable, retryOnConflict, storedInstant } from "../../platform/stored.ts";
import { type Instant, type Now, plus } from "../../platform/time.ts";
import { dueTable } from "../storage/due-index.table.ts";
import { schemaVersion } from "../storage/request-rows.table.ts";
import type { EventSink } from "./event-sink.ts";

const stateSchema = () =>
  z.object({
    /** The time before which the sink is not called, from its Retry-After. */
    notBefore: storedInstant.exactOptional(),
    /** The sink answered 410. It is not called until it has another address or an administrator resumes it. */
    stopped: z.object({ at: storedInstant, address: z.string() }).exactOptional(),
    /** The last failed call, also after an accepted one, and how many calls have failed since. */
    failure: z.object({ at: storedInstant, message: z.string(), attempts: z.int().nonnegative() }).exactOptional(),
  });
/** The state of a sink, over all requests. */
type SinkState = Immutable<z.output<ReturnType<typeof stateSchema>>>;

export const sinkColumns = rowColumns<SinkState>({ kind: "event sink", version: schemaVersion }, stateSchema);

const partitionKey = "event_sinks";

/** Returns the states of the event sinks. */
export function sinkStates(tables: Tables) {
  const table = tables.table(dueTable);
  return {
    async sinkState(sink: number): Promise<SinkState> {
      const row = await table.get(partitionKey, String(sink));
      return row === undefined ? {} : sinkColumns.fromRow(row);
    },

    /** Writes the state that `change` returns, unless it is the same object. Repeats the change on a conflict. */
    changeSinkState: (sink: number, change: (before: SinkState) => SinkState): Promise<void> =>
      retryOnConflict(async () => {
        const before = await table.get(partitionKey, String(sink));
        const state = before === undefined ? {} : sinkColumns.fromRow(before);
        const after = change(state);
        if (after === state) return undefined;
        const row = { partitionKey, rowKey: String(sink), ...sinkColumns.toColumns(after) };
        const etag = await (before === undefined ? table.insert(row) : table.replace(row, before.etag));
        return etag === undefined ? conflict : undefined;
      }),
  };
}

/** The status by which a sink unsubscribes, as Standard Webhooks defines it. */
export const gone = 410;

/** Returns whether a sink is called: not after a 410 under its present address, nor before its Retry-After. */
export function sinkStatus({ stopped, notBefore }: SinkState, { address }: Pick<EventSink, "address">, now: Instant) {
  if (stopped?.address === address) return { state: "stopped", at: stopped.at } as const;
  if (notBefore !== undefined && notBefore > now) return { state: "paused", until: notBefore } as const;
  return { state: "active" } as const;
}

interface StateDeps {
  readonly events: Pick<ReturnType<typeof sinkStates>, "changeSinkState">;
  readonly now: Now;
  readonly log: Log;
}

/** Stores at once that a sink is not to be called, if its answer says so: other hosts call it too. */
export async function recordPause(
  { kind, status, retryAfterSeconds }: PeerFailure,
  { number, address }: Pick<EventSink, "number" | "address">,
  { events, now, log }: StateDeps,
): Promise<void> {
  const pause: SinkState = {
    ...(status === gone && { stopped: { at: now(), address } }),
    ...(kind === "throttled" &&
      retryAfterSeconds !== undefined && { notBefore: plus(now(), retryAfterSeconds * 1000) }),
  };
  if (Object.keys(pause).length === 0) return;
  await events.changeSinkState(number, before => ({ ...before, ...pause }));
  if (pause.stopped !== undefined) log.error("event_sink_stopped", { sink: number });
}

/** Some calls to a sink. */
interface Calls {
  /** How many failed; if one was accepted, since then. */
  readonly failures: number;
  readonly isAccepted: boolean;
  /** The last one that failed. */
  readonly lastFailure?: Pick<NonNullable<SinkState["failure"]>, "at" | "message"> | undefined;
}

/** Stores the last failed call to a sink, and how many have failed since it accepted one. */
export const recordCalls = (
  sink: number,
  { failures, isAccepted, lastFailure }: Calls,
  { events }: Pick<StateDeps, "events">,
): Promise<void> =>
  events.changeSinkState(sink, before => {
    const attempts = failures + (isAccepted ? 0 : (before.failure?.attempts ?? 0));
    const failure = lastFailure ?? before.failure;
    if (failure === undefined || (lastFailure === undefined && before.failure?.attempts === attempts)) return before;
    return { ...before, failure: { ...failure, attempts } };
  });
