import { fork } from "node:child_process";
import { once } from "node:events";
import { fileURLToPath } from "node:url";
import type { Snapshot } from "./clone.ts";
import type { MeterReport } from "./meter.ts";
import type { Copies, Filled, ServerCommand } from "./server-child.ts";

/** The simulated table server in a process of its own. */
export interface BenchServer {
  readonly connectionString: string;
  /** Adds copies of a model. @returns the number of rows */
  fill(model: Snapshot, copies: Copies, count: number): Promise<number>;
  /** Returns what `work` did at the server, with its result and its seconds. */
  metered<T>(
    work: () => Promise<T>,
  ): Promise<{ readonly result: T; readonly seconds: number; readonly report: MeterReport }>;
  stop(): Promise<void>;
}

export async function startServer(latencyMs: string): Promise<BenchServer> {
  const child = fork(fileURLToPath(new URL("./server-child.ts", import.meta.url)), {
    env: { ...process.env, BENCH_LATENCY_MS: latencyMs },
    execArgv: ["--max-old-space-size=4096"],
  });
  const [{ connectionString }] = (await once(child, "message")) as [{ connectionString: string }];
  const ask = async <T>(command: ServerCommand): Promise<T> => {
    child.send(command);
    const [answer] = await once(child, "message");
    return answer as T;
  };
  return {
    connectionString,
    fill: async (model, copies, count) => (await ask<Filled>({ do: "fill", model, copies, count })).rows,
    metered: async work => {
      await ask({ do: "reset" });
      const began = performance.now();
      const result = await work();
      const seconds = (performance.now() - began) / 1000;
      return { result, seconds, report: await ask<MeterReport>({ do: "report" }) };
    },
    stop: async () => {
      const exited = once(child, "exit");
      child.send({ do: "stop" } satisfies ServerCommand);
      await exited;
    },
  };
}
