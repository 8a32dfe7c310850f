import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { startVault, type Vault } from "../../local/peers/vault/vault.ts";
import { createStores } from "../../local/start/system.ts";
import { localTokens, type Tokens } from "../../local/start/tokens.ts";
import { freshStorage } from "../support/storage/fresh-storage.ts";
import { goodSettings, type MainProcess, startMain } from "./main-process.ts";

/** The deployed app behind Front Door, called over HTTP. */
let main: MainProcess;
let vault: Vault;
let tokens: Tokens;
const frontDoor = "0f5d1c2e-7a63-4b0e-9d0c-1f2e3d4c5b6a";
const app = "https://app.example.com";
const { CLOUD_TABLES_ENDPOINT: _, CLOUD_STORAGE_BLOB_ENDPOINT: __, ...given } = goodSettings;
let settings: Readonly<Record<string, string>>;

beforeAll(async () => {
  const secret = Buffer.alloc(32, 5).toString("base64url");
  vault = await startVault({ secrets: { "data-encryption-key": secret, "password-pepper": secret } });
  tokens = localTokens(vault);
  const { connectionString } = freshStorage();
  await createStores(connectionString);
  settings = {
    ...given,
    CLOUD_STORAGE_CONNECTION_STRING: connectionString,
    CLOUD_KEY_VAULT_ENDPOINT: vault.url,
    CALLER_STATIC_TOKENS: "true",
    CLIENT_ALLOWED_ORIGINS: app,
    TRUSTED_PROXIES: "2",
    PROXY_ID: frontDoor,
  };
  main = await startMain(settings);
});

afterAll(() => vault.close());

interface Sent {
  readonly method?: string;
  readonly token?: string;
  readonly headers?: Readonly<Record<string, string>>;
}

const call = (path: string, { method = "GET", token, headers = {} }: Sent, on = main) =>
  fetch(on.url + path, { method, headers: { ...(token && { authorization: `Bearer ${token}` }), ...headers } });

/** A call of each API, and the status that it has through the proxy. */
const calls = (): readonly (readonly [string, Sent, number])[] => [
  ["/core/users", { token: tokens.core }, 200],
  ["/client/authenticate", {}, 200],
  ["/client/login", { method: "OPTIONS", headers: { origin: app } }, 204],
  ["/v2/credential-requests", { token: tokens.connector }, 200],
];

const statuses = async (headers: Readonly<Record<string, string>>, on = main) =>
  Promise.all(
    calls().map(async ([path, sent]) => {
      const { status } = await call(path, { ...sent, headers: { ...sent.headers, ...headers } }, on);
      return status;
    }),
  );

describe("a call of an app that has a proxy", () => {
  it("is served where it carries the proxy's id", async () => {
    expect(await statuses({ "x-azure-fdid": frontDoor })).toEqual(calls().map(([, , status]) => status));
  });

  it.each([
    {},
    { "x-azure-fdid": "" },
    { "x-azure-fdid": "4e1a0c9b-1111-4b0e-9d0c-1f2e3d4c5b6a" },
    { "x-azure-fdid": `${frontDoor}, ${frontDoor}` },
    { "x-gateway-id": frontDoor },
  ])("is refused with %j: 403", async headers => {
    expect(await statuses(headers as Record<string, string>)).toEqual([403, 403, 403, 403]);
  });

  it("is refused with a text that says what to do", async () => {
    const error = "Call this service through its public address.";
    expect(await (await call("/client/login", {})).json()).toEqual({ error });
    expect(await (await call("/v2/status", { token: tokens.connector })).json()).toMatchObject({
      error_message: error,
    });
  });

  it("needs no id for /health, which the platform's probes call directly", async () => {
    expect((await call("/health", {})).status).toBe(200);
  });

  it("can have the id in another header", async () => {
    const other = await startMain({ ...settings, PROXY_ID_HEADER: "X-Gateway-Id" });
    try {
      expect(await statuses({ "x-azure-fdid": frontDoor }, other)).toEqual([403, 403, 403, 403]);
      expect(await statuses({ "x-gateway-id": frontDoor }, other)).toEqual(calls().map(([, , status]) => status));
    } finally {
      await other.end();
    }
  });

  it("is logged with the address that the caller cannot choose", async () => {
    const forwarded = { "x-forwarded-for": "198.51.100.1, 203.0.113.2, 192.0.2.3" };
    await call("/client/authenticate", { headers: forwarded });
    await call("/client/authenticate", { headers: { ...forwarded, "x-azure-fdid": frontDoor } });
    const lines = (await main.end()).filter(({ address }) => address !== undefined);
    const seen = lines.filter(({ event }) => event === "http").map(({ status, address }) => [status, address]);
    expect(seen).toEqual([
      [403, "192.0.2.3"],
      [200, "203.0.113.2"],
    ]);
    expect(lines.find(({ event }) => event === "caller_refused")).toMatchObject({ reason: "not_through_proxy" });
  });
});
