// The simulated table server in a process of its own, so that its work does not count as the host's.
import { nameKey } from "../../lib/auth/hints.table.ts";
import { idKey, namePartition } from "../../lib/auth/tables.table.ts";
import { copierOf, type Difference, type Snapshot } from "./clone.ts";
import type { MeterReport } from "./meter.ts";
import { startTableServer } from "./table-server.ts";

export type ServerCommand =
  | { readonly do: "fill"; readonly model: Snapshot; readonly copies: Copies; readonly count: number }
  | { readonly do: "reset" }
  | { readonly do: "report" }
  | { readonly do: "stop" };

/** What each copy is of. */
export type Copies =
  | { readonly of: "request"; readonly id: string; readonly shipmentId: string; readonly first: number }
  | { readonly of: "user"; readonly id: number; readonly name: string };

export interface Filled {
  readonly rows: number;
}

const latencyMs = (process.env.BENCH_LATENCY_MS ?? "3,10").split(",").map(Number);
const server = await startTableServer({ latencyMs: [latencyMs[0] ?? 3, latencyMs[1] ?? 10] });

/** Returns the request id of the copy with a number. */
const requestId = (n: number): string => `00000000-0000-4000-8000-${String(n).padStart(12, "0")}`;
/** Returns the name of the copy with a number, as long as the model's. */
const username = (n: number): string => `user${String(n).padStart(7, "0")}`;

function differenceOf(copies: Copies, index: number): Difference {
  if (copies.of === "request") {
    const n = copies.first + index;
    return {
      texts: [
        [copies.id, requestId(n)],
        [copies.shipmentId, `shipment-${n}`],
      ],
    };
  }
  const name = username(index);
  const id = copies.id + 1 + index;
  return {
    texts: [
      [namePartition(copies.name), namePartition(name)],
      [nameKey(copies.name), nameKey(name)],
      [copies.name, name],
      [idKey(copies.id), idKey(id)],
    ],
    numbers: new Map([[copies.id, id]]),
  };
}

function fill({ model, copies, count }: ServerCommand & { do: "fill" }): Filled {
  const first = differenceOf(copies, 0);
  const copiers = Object.entries(model).flatMap(([table, rows]) =>
    rows.map(row => ({ to: server.table(table), copy: copierOf(row, first) })),
  );
  for (let index = 0; index < count; index++) {
    const difference = differenceOf(copies, index);
    for (const { to, copy } of copiers) {
      const { partitionKey, rowKey, columns } = copy(difference);
      to.add(partitionKey, rowKey, columns);
    }
  }
  return { rows: count * copiers.length };
}

function answer(command: ServerCommand): Filled | MeterReport | object {
  if (command.do === "fill") {
    for (const table of Object.keys(command.model)) server.table(table);
    return fill(command);
  }
  if (command.do === "report") return server.meter.report();
  if (command.do === "reset") server.meter.reset();
  else process.exit();
  return {};
}

process.on("disconnect", () => process.exit());
process.on("message", (command: ServerCommand) => process.send?.(answer(command)));
process.send?.({ connectionString: server.connectionString });
