// Simulated peers for the bench of the connector, in a process of their own, started by it.
import { closePeers, startPeers } from "../../local/peers/all.ts";
import { startSink } from "../../local/peers/sink/sink.ts";
import { describeSystem } from "../../local/start/system.ts";

/** What a host needs to work with these peers. */
export interface DescribedPeers {
  readonly settings: Readonly<Record<string, string>>;
  /** Tokens of callers. */
  readonly token: string;
  readonly coreToken: string;
}

/** Storage accounts on which hosts are to work, the first in the environment. */
const storage = {
  connectionString: process.env.BENCH_STORAGE ?? "",
  tableUrl: process.env.BENCH_TABLES ?? "",
  blobUrl: process.env.BENCH_BLOBS ?? "",
};

const peers = await startPeers();
// Keys are programmed at the first look, mails are delivered at once: their delays do not count.
peers.delivery.settings({ shipAfterMs: 0 });
peers.mail.outcome({ runningPolls: 0, times: 1_000_000 });
// The time in which the IdP answers a registration.
const idpMs = Number(process.env.BENCH_IDP_MS ?? 0);
const registrations = { method: "POST", path: "fido2Methods$" };
if (idpMs > 0) peers.entra.fail({ kind: "delay", ms: idpMs, times: 1_000_000, ...registrations });
const sink = process.env.BENCH_SINK === "true" ? await startSink() : undefined;
const { settings, tokens } = await describeSystem(storage, peers, {
  EVENT_SINK_URLS: sink ? `${sink.url}/events` : "",
});

/** Registrations at the IdP since the last question. */
export interface Registrations {
  readonly calls: number;
  readonly throttled: number;
}

process.on("message", async (command: "stop" | "registrations") => {
  if (command === "registrations") {
    const calls = peers.entra.requests().filter(({ method, path }) => method === "POST" && /fido2Methods$/.test(path));
    peers.entra.resetRequests();
    const throttled = calls.filter(({ status }) => status === 429).length;
    process.send?.({ calls: calls.length, throttled } satisfies Registrations);
    return;
  }
  await closePeers(peers);
  await sink?.close();
  process.exit();
});
process.send?.({
  settings,
  token: tokens.connector,
  coreToken: tokens.core,
} satisfies DescribedPeers);
