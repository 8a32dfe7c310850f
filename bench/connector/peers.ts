// Simulated peers for the bench of the connector, in a process of their own, started by it.
import { closePeers, startPeers } from "../../local/peers/all.ts";
import { describeSystem } from "../../local/start/system.ts";

/** What a host needs to work with these peers, and what bare calls need in its place. */
export interface DescribedPeers {
  readonly settings: Readonly<Record<string, string>>;
  readonly token: string;
  readonly entraSecret: string;
  readonly deliveryToken: string;
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
const { settings, tokens } = await describeSystem(storage, peers);

process.on("message", async () => {
  await closePeers(peers);
  process.exit();
});
process.send?.({
  settings,
  token: tokens.connector,
  entraSecret: peers.vault.get("idp-entra-client-secret") ?? "",
  deliveryToken: peers.vault.get("delivery-api-token") ?? "",
} satisfies DescribedPeers);
