import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, afterEach, beforeEach, describe, expect, test } from "vitest";
import type { ConnectorContext } from "../../../../functions/connector/context.ts";
import { connectorJobs } from "../../../../functions/connector/jobs.ts";
import { statusV1, statusV2 } from "../../../../lib/connector/api/status.ts";
import { vendorHosts } from "../../../../lib/connector/idp/secret-hosts.ts";
import { connectorSettings } from "../../../../lib/connector/settings.ts";
import { openBlobs } from "../../../../lib/platform/azure/blobs.ts";
import { Fault } from "../../../../lib/platform/fault.ts";
import { BadSettings, readSettings } from "../../../../lib/platform/settings/read-settings.ts";
import { hours, minutes } from "../../../../lib/platform/time.ts";
import { readAllSettings } from "../../../../local/deploy/read-all-settings.ts";
import { idpFile, peerSettings } from "../../../../local/peers/all.ts";
import { createStores } from "../../../../local/start/system.ts";
import { localTokens } from "../../../../local/start/tokens.ts";
import {
  environmentOf,
  newUser,
  orderBody,
  peersOfFile,
  refusalOf,
  testConnector,
} from "../../../support/connector/test-connector.ts";
import { startPausingProxy } from "../../../support/host/pausing-proxy.ts";
import { freshStorage } from "../../../support/storage/fresh-storage.ts";
import { until } from "../../../support/until.ts";
import { goodSettings, type MainProcess, startMain } from "../../main-process.ts";

const peers = await peersOfFile();
const directory = mkdtempSync(join(tmpdir(), "idps-"));
const path = join(directory, "idps.yaml");
afterAll(() => rmSync(directory, { recursive: true }));

const multi = {
  IDP_ENABLE_MULTI_IDP: "true",
  IDP_CONFIGURATION_PATH: path,
  IDP_SECRET_HOSTS: [peerSettings(peers).IDP_SECRET_HOSTS, ...vendorHosts].join(","),
};
const main = "entra: { type: B, tenant-id: t, client-id: c }\n";

describe("the settings of several IdPs", () => {
  const readIdps = (changes: Readonly<Record<string, string>>) => {
    try {
      return readAllSettings({ ...goodSettings, SERVICE_APIS: "connector", ...multi, ...changes }).connector?.idps;
    } catch (error) {
      if (!(error instanceof BadSettings)) throw error;
      return error.problems.map(({ path, reason }) => `${path}: ${reason}`);
    }
  };
  beforeEach(() => writeFileSync(path, main));

  test("are a file on disk, read at the start", () => {
    expect(readIdps({})).toMatchObject({ file: { path }, known: new Map([["entra", { type: "entra" }]]) });
  });

  test("are in a blob if the path is an address under the blob endpoint, which is read later", () => {
    const blob = (address: string, endpoint = "https://blobs.example/", more: Readonly<Record<string, string>> = {}) =>
      readIdps({ IDP_CONFIGURATION_PATH: address, CLOUD_STORAGE_BLOB_ENDPOINT: endpoint, ...more });
    const file = { container: "configuration", blob: "a/b c.yaml" };
    expect(blob("https://blobs.example/configuration/a/b%20c.yaml")).toMatchObject({ file });
    const local = { CLOUD_STORAGE_CONNECTION_STRING: "UseDevelopmentStorage=true" };
    const account = "http://127.0.0.1:10000/account";
    expect(blob(`${account}/configuration/a/b%20c.yaml`, account, local)).toMatchObject({ file });
    expect(blob(`${account}/configuration/a/b%20c.yaml`, account)).toContain(
      "IDP_CONFIGURATION_PATH: must be an https address: http on the loopback is allowed in local runs only",
    );
    const wrong = [
      "IDP_CONFIGURATION_PATH: must be a path, or the address of a blob under CLOUD_STORAGE_BLOB_ENDPOINT",
    ];
    for (const address of [
      "https://blobs.example/idps.yaml",
      "https://blobs.example/configuration/",
      "https://blobs.example/configuration/../idps.yaml",
      "https://blobs.example/configuration/%E0%A4%A",
      "https://blobs.example/configuration/idps.yaml?sig=x",
      "https://blobs.example/configuration/idps.yaml#x",
      "https://other.example/configuration/idps.yaml",
      "https://blobs.example.com/configuration/idps.yaml",
      "http://blobs.example/configuration/idps.yaml",
      "https://blobs.example@other.example/configuration/idps.yaml",
      "file:///configuration/idps.yaml",
      "https://",
    ])
      expect(blob(address), address).toEqual(wrong);
    expect(blob("http://127.0.0.1:10000/other/configuration/idps.yaml", account, local)).toEqual(wrong);
    // Without an endpoint, as a connection string allows it, no address is under it.
    const endpoint = { CLOUD_STORAGE_BLOB_ENDPOINT: "", CLOUD_STORAGE_CONNECTION_STRING: "UseDevelopmentStorage=true" };
    expect(readIdps({ ...endpoint, IDP_CONFIGURATION_PATH: "https://blobs.example/configuration/idps.yaml" })).toEqual(
      wrong,
    );
  });

  test("require a file that exists and is readable", () => {
    expect(readIdps({ IDP_CONFIGURATION_PATH: "" })).toEqual([
      "IDP_CONFIGURATION_PATH: must be set with IDP_ENABLE_MULTI_IDP",
    ]);
    expect(readIdps({ IDP_CONFIGURATION_PATH: join(directory, "none.yaml") })).toEqual([
      "IDP_CONFIGURATION_PATH: does not exist",
    ]);
    expect(readIdps({ IDP_CONFIGURATION_PATH: directory })).toEqual(["IDP_CONFIGURATION_PATH: is not a file"]);
    expect(readIdps({ IDP_CONFIGURATION_PATH: join(path, "x") })).toEqual([
      "IDP_CONFIGURATION_PATH: cannot be read (ENOTDIR)",
    ]);
    writeFileSync(path, main.padEnd(300_000, "#"));
    expect(readIdps({})).toEqual(["IDP_CONFIGURATION_PATH: must have at most 256 KiB"]);
  });

  test("are reported together with all other problems", () => {
    writeFileSync(path, "entra: { type: B, tenant-id: t }\n");
    expect(readIdps({ RFPR_RETRY_NUMBER_DAYS: "x", CLOUD_KEY_VAULT_ENDPOINT: "", IDP_DEFAULT: "other" })).toEqual([
      "CLOUD_KEY_VAULT_ENDPOINT: must be set",
      "RFPR_RETRY_NUMBER_DAYS: must be a number of days",
      "IDP_CONFIGURATION_PATH/entra/client-id: must be set",
      "IDP_DEFAULT: is not in IDP_CONFIGURATION_PATH",
    ]);
    expect(readIdps({ IDP_ENABLE_MULTI_IDP: "yes" })).toEqual(["IDP_ENABLE_MULTI_IDP: must be true or false"]);
  });
});

/** A connector whose IdPs are in a blob, and a function that changes the blob. */
async function connectorByBlob(content: string) {
  const { storage, anotherInstance } = await testConnector(peers);
  const blobs = openBlobs({ connectionString: storage.connectionString, timeoutMs: 15_000 });
  await blobs.createContainer("configuration");
  const put = (text: string) => blobs.put("configuration", "idps.yaml", text);
  await put(content);
  const address = `${storage.blobUrl}/configuration/idps.yaml`;
  const connector = anotherInstance({ settings: { ...multi, IDP_CONFIGURATION_PATH: address } });
  await connector.context.ready();
  return { connector, put };
}

const all = () => idpFile(peers);
/** The file without one of its IdPs. */
const without = (id: string) => all().replace(new RegExp(`^${id}:\\n(  .*\\n)+`, "m"), "");

/** A key with a credential at each of the IdPs. */
function bodyFor(...ids: readonly string[]) {
  const body = orderBody([ids.length]);
  const items = body.shipment.shipment_items.map(item => ({
    ...item,
    credentials: ids.map(idp_id => ({ idp_id, user_id: newUser() })),
  }));
  return { ...body, shipment: { ...body.shipment, shipment_items: items } };
}

describe("several IdPs in a blob", () => {
  test("each register their credential of one security key", async () => {
    const { connector } = await connectorByBlob(all());
    const { requestId } = await connector.orderAndRun(bodyFor("aic", "entra", "pingone"));
    const { state, shipment } = await connector.read(requestId);
    expect(state).toBe("complete");
    expect(shipment?.shipment_items[0]?.credentials).toMatchObject([
      { idp_id: "aic", relying_party_id: "aic.example.com", state: "active" },
      { idp_id: "entra", relying_party_id: "login.microsoft.com", state: "active" },
      { idp_id: "pingone", relying_party_id: "pingone.example.com", state: "active" },
    ]);
  });

  test("accept requests for them only: another IdP is refused with 400 and its path", async () => {
    const { connector } = await connectorByBlob(without("aic"));
    expect(await refusalOf(connector.order(bodyFor("entra", "aic")))).toMatchObject({
      status: 400,
      body: {
        error_code: "api_error",
        error_data: {
          error_type: "validation",
          fields: [
            {
              path: "shipment.shipment_items[0].credentials[1].idp_id",
              reason: "is not a configured identity provider",
            },
          ],
        },
      },
    });
  });

  test("may be removed: the credentials stay due with that message, and continue when the IdP is back", async () => {
    const { connector, put } = await connectorByBlob(all());
    const { requestId } = await connector.orderAndPoll(bodyFor("pingone", "entra"));
    await put(without("pingone"));
    connector.advance(minutes(5));
    await connector.context.ready();
    await connector.runCredentials();
    const credentials = async () => (await connector.read(requestId)).shipment?.shipment_items[0]?.credentials;
    expect(await credentials()).toMatchObject([
      { state: "activation_pending", error_message: "The identity provider pingone is no longer configured." },
      { state: "active" },
    ]);
    await put(all());
    connector.advance(minutes(5));
    await connector.context.ready();
    await connector.runCredentials();
    expect(await credentials()).toMatchObject([{ state: "active" }, { state: "active" }]);
  });
});

test("reads several IdPs from a file on disk again too", async () => {
  writeFileSync(path, main);
  const connector = await testConnector(peers, { settings: multi });
  const ids = async () => {
    connector.advance(minutes(5));
    await connector.context.ready();
    return [...connector.context.idpSettings().keys()];
  };
  expect([...connector.context.idpSettings().keys()]).toEqual(["entra"]);
  writeFileSync(path, all());
  expect(await ids()).toEqual(["entra", "pingone", "aic"]);
  rmSync(path);
  expect(await ids()).toEqual(["entra", "pingone", "aic"]);
  writeFileSync(path, main.padEnd(300_000, "#"));
  expect(await ids()).toEqual(["entra", "pingone", "aic"]);
  expect(connector.events("bad_idp_configuration").map(({ problems }) => problems)).toEqual([
    [{ path: "IDP_CONFIGURATION_PATH", reason: "does not exist" }],
    [{ path: "IDP_CONFIGURATION_PATH", reason: "must have at most 256 KiB" }],
  ]);
});

describe("the status of several IdPs (specification section 2)", () => {
  const configurationsOf = ({ settingTexts, idpSettings }: ConnectorContext) =>
    statusV2(settingTexts, idpSettings()).IDP_CONFIGURATIONS;

  test("has every IdP with the specification's keys only, as in the current file", async () => {
    const { connector, put } = await connectorByBlob(`${all()}byIdentity: { type: B, managed-identity: true }\n`);
    const shown = configurationsOf(connector.context);
    expect(shown).toMatchObject({ aic: { type: "aic", journey: "RegisterKey" }, pingone: { type: "pingone" } });
    expect(shown.pingone).toHaveProperty(["pre-registration-timeout-days"], 14);
    // An unset number is absent, because the specification has an integer there.
    expect(shown.aic).not.toHaveProperty("challenge-timeout-milliseconds");
    expect(shown.aic).toMatchObject({
      scope: "fido",
      "callback-1": "NameCallback",
    });
    expect(shown.byIdentity).toEqual({
      type: "entra",
      "tenant-id": "",
      "client-id": "",
      "api-version": "beta",
      "challenge-timeout-minutes": 20_160,
      "graph-endpoint": "https://graph.microsoft.com",
      "online-endpoint": "https://login.microsoftonline.com",
    });
    await put(main);
    connector.advance(minutes(5));
    await connector.context.ready();
    expect(configurationsOf(connector.context)).toEqual({ entra: expect.objectContaining({ "tenant-id": "t" }) });
  });

  test.each([
    ["pingone", "IDPB_DEFAULT_RELYING_PARTY", "pingone.example.com"],
    ["entra", "IDPA_FIDO_API_CHALLENGE_TIMEOUT_MINUTES", "20160"],
    ["aic", "IDPC_REALM", undefined],
  ])(
    "of version 1 has the variables of the default one, of kind %s, with the file's values",
    async (id, name, value) => {
      const { connector } = await connectorByBlob(all());
      const { settingTexts, idpSettings } = connector.context;
      const v1 = statusV1(settingTexts, idpSettings().get(id));
      expect(v1[name]).toBe(value);
      const prefix = name.slice(0, 5);
      expect(Object.keys(v1).filter(key => /^IDP[ABC]_/.test(key) && !key.startsWith(prefix))).toEqual([]);
      expect(Object.values(v1).filter(shown => typeof shown !== "string")).toEqual([]);
    },
  );
});

describe("a deployment whose IdPs are not known at the start", () => {
  const running: MainProcess[] = [];
  afterEach(async () => {
    await Promise.all(running.splice(0).map(process => process.end()));
  });

  test("runs no job", async () => {
    const { connector } = await connectorByBlob(all());
    const { requestId } = await connector.order(bodyFor("entra"));
    const away = new Fault("unavailable", "The service is not configured.", { retryAfterSeconds: 10 });
    const jobs = Object.values(connectorJobs(readSettings(connectorSettings, environmentOf(peers, connector.storage))));
    expect(jobs.length).toBeGreaterThan(2);
    const context = { ...connector.context, ready: () => Promise.reject(away) };
    connector.advance(hours(1));
    for (const { run } of jobs) await expect(run(context)).rejects.toBe(away);
    expect(await connector.read(requestId)).toMatchObject({ state: "started" });
  });

  test("responds 503, logs the reason, and recovers by itself after an outage and once the blob is valid", async () => {
    const storage = freshStorage();
    await createStores(storage.connectionString);
    const blobs = openBlobs({ connectionString: storage.connectionString, timeoutMs: 15_000 });
    await blobs.createContainer("configuration");
    const proxy = await startPausingProxy(storage.blobUrl);
    const outage = proxy.hold({ phase: "request", times: 1000 });
    const app = await startMain(
      {
        ...environmentOf(peers, storage),
        CLOUD_STORAGE_CONNECTION_STRING: proxy.through(storage.connectionString),
        ...multi,
        IDP_CONFIGURATION_PATH: `${storage.blobUrl}/configuration/idps.yaml`,
      },
      { storageCallMs: 6000, healthMaxAgeMs: 0, idpFileRetryMs: 0 },
    );
    running.push(app);
    const { connector } = localTokens(peers.vault);
    const status = async (path: string, token = connector) => {
      const response = await fetch(app.url + path, { headers: { authorization: `Bearer ${token}` } });
      return `${response.status} ${(await response.text()).slice(0, 16)}`;
    };
    expect(await status("/v2/status", "nobody")).toContain("401 ");
    expect(await status("/v2/status")).toBe('503 {"error_code":"a');
    expect(await status("/health")).toContain("503 ");
    outage.release();
    expect(await status("/v2/status")).toContain("503 ");
    await blobs.put("configuration", "idps.yaml", "entra: { type: B }");
    expect(await status("/v2/status")).toContain("503 ");
    expect(await status("/health")).toContain("503 ");
    await blobs.put("configuration", "idps.yaml", main);
    await until(
      async () => (await status("/v2/status")).startsWith("200 "),
      () => "it never heals",
    );
    await until(
      async () => (await status("/health")).startsWith("200 "),
      () => "it never is healthy",
    );
    running.splice(0);
    const lines = await app.end();
    await proxy.close();
    const events = lines.filter(({ event }) => /idp_configuration/.test(String(event)));
    expect(events[0]).toMatchObject({ event: "idp_configuration_unread", kept: false });
    expect(events).toContainEqual(
      expect.objectContaining({
        event: "bad_idp_configuration",
        problems: [
          { path: "IDP_CONFIGURATION_PATH/entra/tenant-id", reason: "must be set" },
          { path: "IDP_CONFIGURATION_PATH/entra/client-id", reason: "must be set" },
        ],
      }),
    );
  });
});
