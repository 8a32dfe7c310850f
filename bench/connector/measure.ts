import type { BenchHost } from "./system.ts";

/** What was done, and the milliseconds of each call where they are asked for. */
export interface Done {
  readonly count: number;
  readonly times: readonly number[];
}

/** A round of some work: its seconds by the clock, and the host's CPU. */
export interface Measured extends Done {
  readonly seconds: number;
  readonly cpuMs: number;
}

export async function measure(host: BenchHost, work: () => Promise<Done>): Promise<Measured> {
  const [before, began] = [await host.usage(), performance.now()];
  const done = await work();
  const seconds = (performance.now() - began) / 1000;
  return { ...done, seconds, cpuMs: (await host.usage()).cpuMs - before.cpuMs };
}

/** One call that does so many pieces. */
export const once = async (count: number, call: () => Promise<number>): Promise<Done> => {
  await call();
  return { count, times: [] };
};
