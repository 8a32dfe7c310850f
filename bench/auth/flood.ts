// Anonymous callers in a process of their own, started by auth-overload.ts, so that their work delays none of its measurements.
import { randomUUID } from "node:crypto";
import { caller, type Send } from "./load.ts";

/** A flood: connections that send `authenticate` again and again. */
export interface Flood {
  readonly url: string;
  readonly connections: number;
  readonly durationMs: number;
  /** Whether a refused caller waits as `Retry-After` says, or calls again at once. */
  readonly waits: boolean;
  /** Number of names that are used by turns; 0: a new name for each call. */
  readonly names: number;
}

export interface FloodReport {
  /** Milliseconds from the start of the flood to its first 503. */
  readonly firstRefusalMs: number;
  /** Milliseconds of the refusals of the first calls, which come all at once, and of all later ones. */
  readonly firstRefusals: readonly number[];
  readonly laterRefusals: readonly number[];
  readonly statuses: Readonly<Record<string, number>>;
}

process.once("message", async (flood: Flood) => {
  // Each has a connection of its own, opened before the flood: what is measured is the work of the host, not the handshakes, which the
  // system delays by seconds when too many come at once.
  const callers = Array.from({ length: flood.connections }, () => caller(flood.url));
  for (let opened = 0; opened < callers.length; opened += 50) {
    await Promise.all(callers.slice(opened, opened + 50).map(({ send }) => send("/health")));
  }
  process.send?.({ ready: true });
  process.once("message", async () => {
    const report = await run(flood, callers);
    for (const { close } of callers) close();
    // A disconnection before the message is written would lose it.
    process.send?.(report, undefined, undefined, () => process.disconnect());
  });
});

async function run(
  { durationMs, waits, names }: Flood,
  callers: readonly { readonly send: Send }[],
): Promise<FloodReport> {
  const began = performance.now();
  const end = began + durationMs;
  let firstRefusalMs = Number.NaN;
  const [firstRefusals, laterRefusals]: [number[], number[]] = [[], []];
  const statuses: Record<string, number> = {};
  let calls = 0;
  const work = async ({ send }: { readonly send: Send }) => {
    for (let call = 0; performance.now() < end; call++) {
      const username = names === 0 ? randomUUID() : `flooded-${calls++ % names}`;
      const form = { username, password: "a wrong password" };
      const sent = send("/client/authenticate", { method: "POST", form });
      const { status, ms, retryAfterSeconds } = await sent.catch((error: NodeJS.ErrnoException) => ({
        status: error.code ?? "failed",
        ms: 0,
        retryAfterSeconds: 0,
      }));
      statuses[status] = (statuses[status] ?? 0) + 1;
      if (status !== 503) continue;
      if (Number.isNaN(firstRefusalMs)) firstRefusalMs = performance.now() - began;
      (call === 0 ? firstRefusals : laterRefusals).push(ms);
      // The callers of one second are spread over it, as they would be without the whole seconds of the header.
      if (waits) await new Promise(resolve => setTimeout(resolve, (retryAfterSeconds + Math.random()) * 1000));
    }
  };
  await Promise.all(callers.map(work));
  return { firstRefusalMs, firstRefusals, laterRefusals, statuses };
}
