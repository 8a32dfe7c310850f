import { onTestFinished } from "vitest";
import type { Peers } from "../../../local/peers/all.ts";
import { createConnectorStores } from "../../../local/start/system.ts";
import { type PausingProxy, startPausingProxy } from "../host/pausing-proxy.ts";
import { freshStorage } from "../storage/fresh-storage.ts";
import { type ConnectorOptions, type TestConnector, testConnector } from "./test-connector.ts";

/** The attempts of one storage call whose connections are cut. */
export const attempts = 4;

/** A connector whose tables are behind a proxy. */
export async function connectorBehindProxy(
  peers: Peers,
  options: ConnectorOptions = {},
): Promise<{ readonly connector: TestConnector; readonly proxy: PausingProxy }> {
  const storage = freshStorage();
  await createConnectorStores(storage.connectionString);
  const proxy = await startPausingProxy(storage.tableUrl);
  onTestFinished(() => proxy.close());
  const through = { ...storage, connectionString: proxy.through(storage.connectionString) };
  return { connector: await testConnector(peers, { ...options, storage: through }), proxy };
}
