import { copyFileSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import type { RunningAzureHost } from "../../local/azure-host/start-azure-host.ts";
import { hostSettings } from "../../local/generate/settings-files.ts";
import { closePeers, idpFile, type Peers, startPeers } from "../../local/peers/all.ts";
import type { Facts } from "../../local/start/run-file.ts";
import { describeSystem } from "../../local/start/system.ts";
import type { Tokens } from "../../local/start/tokens.ts";
import { azureHostOfFile } from "../support/host/azure-host.ts";
import { builtPackage } from "../support/host/built-package.ts";
import { hostBundle } from "../support/host/host-bundle.ts";
import type { Limits } from "../support/host/limits.ts";
import { atEndOfFile } from "../support/run/end-of-file.ts";
import { freshStorage } from "../support/storage/fresh-storage.ts";

const never = "0 0 0 29 2 *";

/** Peers, storage and settings of one system, whose hosts are Azure's. */
export interface Product {
  readonly peers: Peers;
  readonly tokens: Tokens;
  readonly storage: string;
  /** The settings of every host. */
  readonly settings: Readonly<Record<string, string>>;
  /** Starts the deployable package on Azure's host; with limits, the same code as a test bundle that starts with them. */
  startHost(settings?: Readonly<Record<string, string>>, limits?: Limits): Promise<RunningAzureHost>;
  factsOf(host: RunningAzureHost): Facts;
  /** Calls the connector with its token. Rejects if the host is gone before it has answered. */
  call(host: RunningAzureHost, method: string, path: string, body?: unknown): Promise<Answer>;
}

interface Answer {
  readonly status: number;
  /** The parsed JSON; undefined if the body is empty. */
  readonly body: unknown;
}

/** Starts the system of a test file, in which no timer fires by itself. It ends with the file. */
export async function productOfFile(): Promise<Product> {
  const [storage, peers] = [freshStorage(), await startPeers()];
  const folder = mkdtempSync(join(tmpdir(), "product-"));
  atEndOfFile(async () => {
    await closePeers(peers);
    rmSync(folder, { recursive: true });
  });
  const idpPath = join(folder, "identity-providers.yaml");
  writeFileSync(idpPath, idpFile(peers));
  const described = await describeSystem(storage, peers, {
    IDP_ENABLE_MULTI_IDP: "true",
    IDP_CONFIGURATION_PATH: idpPath,
    // A parcel that is lost is looked at soon, as in the demo.
    POLL_AFTER_SECONDS: "1",
    EVENT_SINK_URLS: `${peers.sink.url}/events`,
  });
  peers.delivery.settings({ shipAfterMs: 0 });
  const settings = {
    ...hostSettings,
    ...described.settings,
    CRON_PROCESS_SHIPMENT_SCHEDULE: never,
    CRON_PROCESS_CREDENTIAL_REQUESTS_SCHEDULE: never,
    CRON_DATA_CLEANUP_SCHEDULE: never,
    LOGGING_LEVEL_COM_SERVICE: "INFO",
    AzureWebJobsStorage: storage.connectionString,
  };
  return {
    peers,
    tokens: described.tokens,
    storage: storage.connectionString,
    settings,
    startHost: async (more = {}, limits = undefined) => {
      const app = limits === undefined ? await builtPackage() : await appWith(limits, folder);
      return azureHostOfFile({ app, settings: { ...settings, ...more } });
    },
    factsOf: ({ url, pid, masterKey }) => ({
      host: url,
      tokens: described.tokens,
      secrets: { eventSinks: [...described.secrets.eventSinks] },
      storage: storage.connectionString,
      peers: described.peerUrls,
      pid,
      masterKey,
    }),
    call: async ({ url }, method, path, body) => {
      const response = await fetch(url + path, {
        method,
        headers: { authorization: `Bearer ${described.tokens.connector}`, "content-type": "application/json" },
        ...(body !== undefined && { body: JSON.stringify(body) }),
      });
      const text = await response.text();
      return { status: response.status, body: text === "" ? undefined : JSON.parse(text) };
    },
  };
}

/** Writes an app that starts with these limits into a folder of its own below `folder`. Returns its path. */
async function appWith(limits: Limits, folder: string): Promise<string> {
  const app = mkdtempSync(join(folder, "app-"));
  const bundle = JSON.stringify(pathToFileURL(await hostBundle()).href);
  const main = `import { start } from ${bundle};\nawait start({ ...process.env }, ${JSON.stringify(limits)});\n`;
  copyFileSync("host.json", join(app, "host.json"));
  writeFileSync(join(app, "package.json"), JSON.stringify({ type: "module", main: "main.js" }));
  writeFileSync(join(app, "main.js"), main);
  return app;
}
