import { closePeers, type Peers, startPeers } from "../../../local/peers/all.ts";
import { describeSystem } from "../../../local/start/system.ts";
import { type HostProcess, startHostProcess } from "../host/host-process.ts";
import { atEndOfFile } from "../run/end-of-file.ts";
import { freshStorage } from "../storage/fresh-storage.ts";

type Settings = Readonly<Record<string, string>>;

/** The authentication server as a process, for programs that call it from outside. */
export type AuthHost = Awaited<ReturnType<typeof startAuthHost>>;

/**
 * Starts one, which ends with the test file.
 * @param settings on top of the local system's, given its peers
 * @param secrets further ones of the vault
 */
export async function startAuthHost(
  settings: Settings | ((peers: Peers) => Settings) = {},
  secrets: Readonly<Record<string, string>> = {},
) {
  const storage = freshStorage();
  const peers = await startPeers();
  for (const [name, value] of Object.entries(secrets)) peers.vault.set(name, value);
  const { settings: described, tokens } = await describeSystem(storage, peers, {
    EVENT_SINK_URLS: `${peers.sink.url}/events`,
  });
  const host = await startHostProcess(tokens.core, {
    ...described,
    ...(typeof settings === "function" ? settings(peers) : settings),
  });
  atEndOfFile(async () => {
    await host.kill();
    await closePeers(peers);
  });
  return {
    coreUrl: `${host.url}/core`,
    clientUrl: `${host.url}/client`,
    /** Of the connector, which the same host serves. */
    connectorUrl: host.url,
    /** Of the Core API. */
    token: tokens.core,
    /** A tenant's, for the Core API and the connector. */
    tenantToken: await peers.issuer.mint({
      audience: described.CALLER_AUDIENCES ?? "",
      roles: ["Core.Admin", "Connector.Call"],
    }),
    /** Of the connector, which Core must not take. */
    otherToken: tokens.connector,
    peers,
    /** Calls the Core API; a body is sent as JSON. */
    core: (...[method, path, body]: Parameters<HostProcess["call"]>) => host.call(method, `/core${path}`, body),
  };
}
