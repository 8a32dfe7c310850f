import { rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import * as z from "zod";
import { authTables } from "../../lib/auth/tables.table.ts";
import { responsesContainer } from "../../lib/connector/collect/responses.blob.ts";
import { connectorSettings } from "../../lib/connector/settings.ts";
import { connectorTables } from "../../lib/connector/storage/requests.table.ts";
import { openBlobs } from "../../lib/platform/azure/blobs.ts";
import { openTables } from "../../lib/platform/azure/tables.ts";
import { backupsContainer } from "../../lib/platform/maintenance/read-backup.ts";
import { seconds } from "../../lib/platform/time.ts";
import { type Console, startConsole } from "../console/console.ts";
import { closePeers, idpFile, type Peers, peerSettings, startPeers } from "../peers/all.ts";
import { type Storage, startStorage } from "../peers/storage/storage.ts";
import type { Ports } from "./ports.ts";
import { sinkSecrets } from "./sink-secrets.ts";
import { localTokens, type Tokens } from "./tokens.ts";

/** Storage and peers of one system, and the settings and tokens of its hosts. */
export interface System {
  readonly peers?: Peers;
  readonly connectionString: string;
  /** Settings for a host of this system. */
  readonly settings: Readonly<Record<string, string>>;
  readonly tokens: Tokens;
  readonly secrets: { readonly eventSinks: readonly string[] };
  readonly peerUrls: Readonly<Record<string, string>>;
  /** Absent if this process has only joined the system. */
  readonly console?: Console;
  close(): Promise<void>;
}

const described = z.object({
  settings: z.record(z.string(), z.string()),
  tokens: z.object({ core: z.string(), connector: z.string() }),
  secrets: z.object({ eventSinks: z.array(z.string()) }),
  peerUrls: z.record(z.string(), z.string()),
});

const container = "local-system";
const blob = "system.json";
const timeoutMs = seconds(15);

/**
 * Starts storage, every peer and the console.
 * @param home directory in which a host finds the file of its IdPs; it must exist
 * @param directory where all data is kept; in memory if absent
 * @param options `ports` of the parts, free ones if absent; `eventSinkUrls`, the setting of that name, by default the
 * simulated sink
 */
export async function startSystem(
  home: string,
  directory?: string,
  { ports, eventSinkUrls = "" }: { readonly ports?: Ports; readonly eventSinkUrls?: string } = {},
): Promise<System> {
  const storage = await startStorage({
    directory: directory && join(directory, "azurite"),
    ...(ports && { ports: { blob: ports.blobs, table: ports.tables } }),
  });
  const peers = await startPeers(directory && join(directory, "peers"), ports);
  // Several systems in memory may share one home.
  const idpPath = join(home, `identity-providers${directory === undefined ? `.${process.pid}` : ""}.yaml`);
  writeFileSync(idpPath, idpFile(peers));
  const description = await describeSystem(storage, peers, {
    IDP_ENABLE_MULTI_IDP: "true",
    IDP_CONFIGURATION_PATH: idpPath,
    // A parcel that is delivered by a click is looked at by the next run, not an hour later.
    POLL_AFTER_SECONDS: "1",
    EVENT_SINK_URLS: eventSinkUrls === "" ? `${peers.sink.url}/events` : eventSinkUrls,
  });
  const statePath = directory && join(directory, "console.json");
  const console = await startConsole({
    ...description,
    peers: description.peerUrls,
    statePath,
    ...(ports && { port: ports.console }),
  });
  return {
    ...description,
    peers,
    console,
    close: async () => {
      await console.close();
      await closePeers(peers);
      await storage.close();
      rmSync(idpPath, { force: true });
    },
  };
}

/**
 * Creates the stores of a system, and stores the description of its peers there for hosts that join it.
 * @param more further settings of those hosts
 */
export async function describeSystem(
  { connectionString, tableUrl, blobUrl }: Pick<Storage, "connectionString" | "tableUrl" | "blobUrl">,
  peers: Peers,
  more: Readonly<Record<string, string>> = {},
): Promise<Omit<System, "close">> {
  const tokens = localTokens(peers.vault);
  const secrets = { eventSinks: sinkSecrets(more.EVENT_SINK_URLS ?? "", peers.vault) };
  const settings = {
    SERVICE_APIS: "core,client,connector",
    ...peerSettings(peers),
    ...more,
    CLOUD_TABLES_ENDPOINT: tableUrl,
    CLOUD_STORAGE_BLOB_ENDPOINT: blobUrl,
  };
  const peerUrls = Object.fromEntries(Object.entries(peers).map(([name, { url }]) => [name, url]));
  await createStores(connectionString);
  const blobs = openBlobs({ connectionString, timeoutMs });
  await blobs.put(container, blob, JSON.stringify({ settings, tokens, secrets, peerUrls }));
  return {
    connectionString,
    settings: { ...settings, CLOUD_STORAGE_CONNECTION_STRING: connectionString },
    tokens,
    secrets,
    peerUrls,
  };
}

/** Returns the running system of a storage, which contains the description of its peers. Throws if there is none. */
export async function joinSystem(connectionString: string): Promise<System> {
  const bytes = await openBlobs({ connectionString, timeoutMs }).get(container, blob);
  if (bytes === undefined) throw new Error("There is no running local system on this storage.");
  const description = described.parse(JSON.parse(Buffer.from(bytes).toString()));
  return {
    ...description,
    connectionString,
    settings: { ...description.settings, CLOUD_STORAGE_CONNECTION_STRING: connectionString },
    close: async () => {},
  };
}

/** Creates the tables and containers that Bicep creates in Azure. */
export async function createStores(connectionString: string, shipmentsTable = shipmentsDefault): Promise<void> {
  const tables = openTables({ connectionString, timeoutMs });
  const blobs = openBlobs({ connectionString, timeoutMs });
  await Promise.all([
    createConnectorStores(connectionString, shipmentsTable),
    ...authTables.map(name => tables.createTable(name)),
    ...[backupsContainer, container].map(name => blobs.createContainer(name)),
  ]);
}

/** Creates the tables and containers of a connector alone, without those of backups. */
export async function createConnectorStores(
  connectionString: string,
  shipmentsTable = shipmentsDefault,
): Promise<void> {
  const tables = openTables({ connectionString, timeoutMs });
  const blobs = openBlobs({ connectionString, timeoutMs });
  await Promise.all([
    ...connectorTables(shipmentsTable).map(name => tables.createTable(name)),
    blobs.createContainer(responsesContainer),
  ]);
}

const shipmentsDefault = connectorSettings.shape.CLOUD_TABLES_SHIPMENTS_TABLE_NAME.defaultText ?? "";
