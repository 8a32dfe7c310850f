import { rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import * as z from "zod";
import { authTables } from "../../lib/azure/auth/rows/tables.ts";
import { openBlobs } from "../../lib/azure/blobs.ts";
import { responsesContainer } from "../../lib/azure/connector/responses.ts";
import { connectorTables } from "../../lib/azure/connector/store.ts";
import { backupsContainer } from "../../lib/azure/maintenance/backup-files.ts";
import { openTables } from "../../lib/azure/tables/tables.ts";
import { connectorSettings } from "../../lib/connector/settings.ts";
import { seconds } from "../../lib/time.ts";
import { type Console, startConsole } from "../console/console.ts";
import { closePeers, idpFile, type Peers, peerSettings, startPeers } from "../peers/all.ts";
import { type Storage, startStorage } from "../peers/storage/storage.ts";
import { localTokens, type Tokens } from "./tokens.ts";

/** Storage and peers of one system, with what a host needs to work with them. */
export interface System {
  readonly peers?: Peers;
  readonly connectionString: string;
  /** Settings for a host of this system. */
  readonly settings: Readonly<Record<string, string>>;
  readonly tokens: Tokens;
  readonly peerUrls: Readonly<Record<string, string>>;
  /** Of a system that was started here. */
  readonly console?: Console;
  close(): Promise<void>;
}

const described = z.object({
  settings: z.record(z.string(), z.string()),
  tokens: z.object({ core: z.string(), connector: z.string() }),
  peerUrls: z.record(z.string(), z.string()),
});

const container = "local-system";
const blob = "system.json";
const timeoutMs = seconds(15);

/**
 * Starts storage and every peer.
 * @param home where a host finds the file of its IdPs; it is there already
 * @param directory where all data is kept; none: in memory
 */
export async function startSystem(home: string, directory?: string): Promise<System> {
  const storage = await startStorage({ directory: directory && join(directory, "azurite") });
  const peers = await startPeers(directory && join(directory, "peers"));
  // Several systems in memory may have one home.
  const idpPath = join(home, `identity-providers${directory === undefined ? `.${process.pid}` : ""}.yaml`);
  writeFileSync(idpPath, idpFile(peers));
  const told = await describeSystem(storage, peers, {
    IDP_ENABLE_MULTI_IDP: "true",
    IDP_CONFIGURATION_PATH: idpPath,
  });
  const statePath = directory && join(directory, "console.json");
  const console = await startConsole({ ...told, peers: told.peerUrls, statePath });
  return {
    ...told,
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

/** Makes the stores of a system and writes its peers down there, for hosts that join it. @param more of their settings */
export async function describeSystem(
  { connectionString, tableUrl, blobUrl }: Pick<Storage, "connectionString" | "tableUrl" | "blobUrl">,
  peers: Peers,
  more: Readonly<Record<string, string>> = {},
): Promise<Omit<System, "close">> {
  const tokens = localTokens(peers.vault);
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
  await blobs.put(container, blob, JSON.stringify({ settings, tokens, peerUrls }));
  return {
    connectionString,
    settings: { ...settings, CLOUD_STORAGE_CONNECTION_STRING: connectionString },
    tokens,
    peerUrls,
  };
}

/** Finds a running system by its storage, which holds a description of its peers. */
export async function joinSystem(connectionString: string): Promise<System> {
  const bytes = await openBlobs({ connectionString, timeoutMs }).get(container, blob);
  if (bytes === undefined) throw new Error("There is no running local system on this storage.");
  const told = described.parse(JSON.parse(Buffer.from(bytes).toString()));
  return {
    ...told,
    connectionString,
    settings: { ...told.settings, CLOUD_STORAGE_CONNECTION_STRING: connectionString },
    close: async () => {},
  };
}

/** Makes the tables and containers that Bicep makes in Azure (decision G12). */
export async function createStores(connectionString: string, shipmentsTable = shipmentsDefault): Promise<void> {
  const tables = openTables({ connectionString, timeoutMs });
  const blobs = openBlobs({ connectionString, timeoutMs });
  await Promise.all([
    ...[...connectorTables(shipmentsTable), ...authTables].map(name => tables.createTable(name)),
    ...[responsesContainer, backupsContainer, container].map(name => blobs.createContainer(name)),
  ]);
}

const shipmentsDefault = connectorSettings.shape.CLOUD_TABLES_SHIPMENTS_TABLE_NAME.parse(undefined);
