import * as z from "zod";
import type { Log } from "../../platform/log.ts";
import type { PeerFailure } from "../../platform/peer-failure.ts";
import { conflict, type Immutable, retryOnConflict, storedInstant } from "../../platform/stored.ts";
import { rowColumns } from "../../platform/tables/row-columns.ts";
import type { Tables } from "../../platform/tables/tables.ts";
import { type Instant, plus } from "../../platform/time.ts";
import { dueTable } from "../storage/due-index.table.ts";
import { schemaVersion } from "../storage/request-rows.table.ts";
import { type EventSink, failureText } from "./event-sink.ts";

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
export type SinkState = Immutable<z.output<ReturnType<typeof stateSchema>>>;

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

/** Returns what a failed call changes in the state of its sink. */
export function changesBy(failure: PeerFailure, { address }: Pick<EventSink, "address">, now: Instant): SinkState {
  const { kind, status, retryAfterSeconds: wait } = failure;
  return {
    failure: { at: now, message: failureText(failure), attempts: 1 },
    ...(status === gone && { stopped: { at: now, address } }),
    ...(kind === "throttled" && wait !== undefined && { notBefore: plus(now, wait * 1000) }),
  };
}

/** Some calls to a sink. */
interface Calls {
  /** How many failed; if one was accepted, since then. */
  readonly failures: number;
  readonly isAccepted: boolean;
  /** What those that failed change. */
  readonly changes: SinkState;
}

/** Stores the last failed call to a sink, how many have failed since it accepted one, and what it asked for. */
export async function recordCalls(
  sink: number,
  { failures, isAccepted, changes }: Calls,
  { events, log }: { readonly events: Pick<ReturnType<typeof sinkStates>, "changeSinkState">; readonly log: Log },
): Promise<void> {
  await events.changeSinkState(sink, before => {
    const attempts = failures + (isAccepted ? 0 : (before.failure?.attempts ?? 0));
    const failure = changes.failure ?? before.failure;
    if (failure === undefined || (changes.failure === undefined && failure.attempts === attempts)) return before;
    return { ...before, ...changes, failure: { ...failure, attempts } };
  });
  if (changes.stopped !== undefined) log.error("event_sink_stopped", { sink });
}
