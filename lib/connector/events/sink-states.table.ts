import * as z from "zod";
import { conflict, retryOnConflict } from "../../platform/retry-on-conflict.ts";
import { type Immutable, storedInstant } from "../../platform/stored.ts";
import { rowColumns } from "../../platform/tables/row-columns.ts";
import type { Tables } from "../../platform/tables/tables.ts";
import { dueTable } from "../storage/due-index.table.ts";
import { schemaVersion } from "../storage/request-rows.table.ts";

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

/** The partition of the rows with the state of each sink. */
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
