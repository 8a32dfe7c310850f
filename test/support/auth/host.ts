import { closePeers, type Peers, startPeers } from "../../../local/peers/all.ts";
import { describeSystem } from "../../../local/start/system.ts";
import { type HostProcess, startHostProcess } from "../host/host-process.ts";
import { atEndOfFile } from "../run/end-of-file.ts";
import { freshStorage } from "../storage/fresh-storage.ts";

/** The authentication server as a process, for programs that call it from outside. */
export interface AuthHost {
  readonly coreUrl: string;
  readonly clientUrl: string;
  /** Of the Core API. */
  readonly token: string;
  /** Of the connector, which the same host serves. */
  readonly connectorUrl: string;
  /** A tenant's, for the Core API and the connector. */
  readonly tenantToken: string;
  /** Of the connector, which Core must not take. */
  readonly otherToken: string;
  readonly peers: Peers;
  /** Calls the Core API; a body is sent as JSON. */
  readonly core: HostProcess["call"];
}

/**
 * Starts one, which ends with the test file.
 * @param settings on top of the local system's
 * @param secrets further ones of the vault
 */
export async function startAuthHost(
  settings: Readonly<Record<string, string>> = {},
  secrets: Readonly<Record<string, string>> = {},
): Promise<AuthHost> {
  const storage = freshStorage();
  const peers = await startPeers();
  for (const [name, value] of Object.entries(secrets)) peers.vault.set(name, value);
  const { settings: described, tokens } = await describeSystem(storage, peers, {
    EVENT_SINK_URLS: `${peers.sink.url}/events`,
  });
  const host = await startHostProcess(tokens.core, { ...described, ...settings });
  atEndOfFile(async () => {
    await host.kill();
    await closePeers(peers);
  });
  return {
    coreUrl: `${host.url}/core`,
    clientUrl: `${host.url}/client`,
    connectorUrl: host.url,
    token: tokens.core,
    tenantToken: await peers.issuer.mint({
      audience: described.CALLER_AUDIENCES ?? "",
      roles: ["Core.Admin", "Connector.Call"],
    }),
    otherToken: tokens.connector,
    peers,
    core: (method, path, body) => host.call(method, `/core${path}`, body),
  };
}
