// Anonymous callers in a process of their own, started by auth-overload.ts, so that their work delays none of its measurements.
import { randomUUID } from "node:crypto";
import { caller, type Sent } from "./load.ts";

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
  const { send, close } = caller(flood.url);
  // Opens the connections first: what is measured is the work of the host, not the handshakes.
  for (let opened = 0; opened < flood.connections; opened += 100) {
    await Promise.all(Array.from({ length: Math.min(100, flood.connections - opened) }, () => send("/health")));
  }
  process.send?.({ ready: true });
  process.once("message", async () => {
    process.send?.(await run(flood, form => send("/client/authenticate", { method: "POST", form })));
    close();
    process.disconnect();
  });
});

async function run(
  { connections, durationMs, waits, names }: Flood,
  authenticate: (form: Readonly<Record<string, string>>) => Promise<Sent>,
): Promise<FloodReport> {
  const began = performance.now();
  const end = began + durationMs;
  let firstRefusalMs = Number.NaN;
  const [firstRefusals, laterRefusals]: [number[], number[]] = [[], []];
  const statuses: Record<string, number> = {};
  let calls = 0;
  const work = async () => {
    for (let call = 0; performance.now() < end; call++) {
      const username = names === 0 ? randomUUID() : `flooded-${calls++ % names}`;
      const fields = { username, password: "a wrong password" };
      const { status, ms, retryAfter } = await authenticate(fields).catch((error: NodeJS.ErrnoException) => ({
        status: error.code ?? "failed",
        ms: 0,
        retryAfter: 0,
      }));
      statuses[status] = (statuses[status] ?? 0) + 1;
      if (status !== 503) continue;
      if (Number.isNaN(firstRefusalMs)) firstRefusalMs = performance.now() - began;
      (call === 0 ? firstRefusals : laterRefusals).push(ms);
      // The callers of one second are spread over it, as they would be without the whole seconds of the header.
      if (waits) await new Promise(resolve => setTimeout(resolve, (retryAfter + Math.random()) * 1000));
    }
  };
  await Promise.all(Array.from({ length: connections }, work));
  return { firstRefusalMs, firstRefusals, laterRefusals, statuses };
}
