import { generateKeyPairSync } from "node:crypto";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { createServer, type IncomingMessage } from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { exportJWK } from "jose";
import { afterAll, describe, expect, test, vi } from "vitest";
import { stringify } from "yaml";
import { listen, shut } from "../../../../commands/http-exchange.ts";
import { openConnectorContext } from "../../../../functions/connector/start/open-context.ts";
import { readAllSettings } from "../../../../local/deploy/read-all-settings.ts";
import { startAic } from "../../../../local/peers/aic/aic.ts";
import { startEntra } from "../../../../local/peers/entra/entra.ts";
import { startPingOne } from "../../../../local/peers/pingone/pingone.ts";
import { certifiedKey } from "../../../support/connector/certified-key.ts";
import {
  environmentOf,
  newUser,
  orderBody,
  peersOfFile,
  testConnector,
} from "../../../support/connector/test-connector.ts";

const peers = await peersOfFile();
const { attestationRoot } = peers.delivery;
const directory = mkdtempSync(join(tmpdir(), "idps-"));
const closing: (() => unknown)[] = [() => rmSync(directory, { recursive: true })];
afterAll(() => Promise.all(closing.map(close => close())));

const closed = <P extends { close(): Promise<void> }>(peer: P): P => {
  closing.push(peer.close);
  return peer;
};

/** Orders a key with a credential at this IdP and sees it registered. Returns the connector that did it. */
async function registered(id: string, idp: object) {
  const path = join(directory, `${id}.yaml`);
  writeFileSync(path, stringify({ [id]: idp }));
  const addresses = Object.values(idp).map(value => URL.parse(String(value))?.host);
  const settings = {
    IDP_ENABLE_MULTI_IDP: "true",
    IDP_CONFIGURATION_PATH: path,
    IDP_DEFAULT: id,
    IDP_SECRET_HOSTS: addresses.filter(Boolean).join(","),
  };
  const connector = await testConnector(peers, { settings });
  const { requestId } = await connector.orderAndRun(orderBody([1], newUser()));
  expect(await connector.read(requestId)).toMatchObject({ state: "complete" });
  return connector;
}

const client = { clientId: "connector", clientSecret: "no secret" };
describe("client authentication by private_key_jwt", () => {
  test("of kind B uses the private key and the certificate in the secret", async () => {
    const [own, issuer] = await Promise.all([certifiedKey("connector"), certifiedKey("issuer")]);
    const trusting = { ...client, tenantId: "tenant", clientKey: own.publicKey, attestationRoot };
    const entra = closed(await startEntra(trusting));
    const pem = own.privateKey + issuer.certificate + own.certificate;
    peers.vault.set("idp-certified-client-secret", pem);
    await registered("certified", {
      type: "B",
      "tenant-id": "tenant",
      "client-id": "connector",
      "graph-endpoint": entra.url,
      "online-endpoint": entra.url,
    });
  });

  test("of kind A uses a private key of an algorithm that PingOne accepts", async () => {
    const { privateKey, publicKey } = generateKeyPairSync("ec", { namedCurve: "P-256" });
    const clientKey = await exportJWK(publicKey);
    const environmentId = "0b6e1c1e-52a0-4e0c-8f0d-6a4f3f1c2d55";
    const pingone = closed(await startPingOne({ ...client, environmentId, clientKey, attestationRoot }));
    peers.vault.set("idp-keyed-client-secret", String(privateKey.export({ type: "pkcs8", format: "pem" })));
    await registered("keyed", {
      type: "A",
      "environment-id": environmentId,
      "client-id": "connector",
      "api-base-url": pingone.url,
      "auth-base-url": pingone.url,
      "default-relying-party": "keys.example.com",
    });
  });

  test("of kind C uses a private key too", async () => {
    const { privateKey, publicKey } = generateKeyPairSync("rsa", { modulusLength: 2048 });
    const tenant = { realm: "alpha", journey: "RegisterKey", relyingPartyId: "keys.example.com" };
    const aic = closed(
      await startAic({
        ...client,
        ...tenant,
        clientKey: await exportJWK(publicKey),
        attestationRoot,
        // Longer than the production of a shipped security key.
        journeySeconds: 604_800,
      }),
    );
    peers.vault.set("idp-journey-client-secret", String(privateKey.export({ type: "pkcs8", format: "pem" })));
    await registered("journey", {
      type: "C",
      realm: "alpha",
      journey: "RegisterKey",
      "client-id": "connector",
      "api-base-url": aic.url,
      "auth-base-url": aic.url,
    });
  });
});

describe("the managed identity of kind B", () => {
  test("issues a token for Graph, and no secret is read", async () => {
    const { entra } = peers;
    const asked: { resource: string | null; header: unknown }[] = [];
    // What the platform offers an app for its own identity; it has a token that Graph takes.
    const server = createServer(async (request: IncomingMessage, response) => {
      const { searchParams } = new URL(request.url ?? "", "http://localhost");
      asked.push({ resource: searchParams.get("resource"), header: request.headers["x-identity-header"] });
      const form = new URLSearchParams({
        grant_type: "client_credentials",
        client_id: "5f0c7c56-6f1e-4c3c-9f51-2f8f2f3f9a10",
        client_secret: peers.vault.get("idp-entra-client-secret") ?? "",
        scope: `${entra.url}/.default`,
      });
      const url = `${entra.url}/${peers.issuer.tenantId}/oauth2/v2.0/token`;
      const granted = (await (await fetch(url, { method: "POST", body: form })).json()) as { access_token: string };
      const expires_on = String(Math.floor(Date.now() / 1000) + 3600);
      response.setHeader("content-type", "application/json");
      response.end(JSON.stringify({ ...granted, expires_on, resource: searchParams.get("resource") }));
    });
    const port = await listen(server, "the identity endpoint", 0);
    closing.push(() => shut(server));
    vi.stubEnv("IDENTITY_ENDPOINT", `http://127.0.0.1:${port}/msi/token`);
    vi.stubEnv("IDENTITY_HEADER", "of the platform");
    closing.push(() => vi.unstubAllEnvs());
    peers.vault.resetRequests();
    await registered("identity", { type: "B", "managed-identity": true, "graph-endpoint": entra.url });
    expect(asked).toEqual([{ resource: entra.url, header: "of the platform" }]);
    expect(peers.vault.requests().filter(({ path }) => path.includes("client-secret"))).toEqual([]);

    const settings = { IDPA_MANAGED_IDENTITY: "true", IDPA_FIDO_API_CLIENT_ID: "", CLOUD_TENANT_ID: "" };
    const single = await testConnector(peers, { settings: { ...settings, CALLER_AUDIENCES: "" } });
    await single.order();
    expect(peers.vault.requests().filter(({ path }) => path.includes("client-secret"))).toEqual([]);
  });
});

test("a secret that is missing in the vault has an error event, which an alert reports", async () => {
  const logged = vi.spyOn(console, "error").mockImplementation(() => {});
  closing.push(() => logged.mockRestore());
  const idp = { type: "A", "default-relying-party": "example.com", "environment-id": "e", "client-id": "c" };
  const address = { "api-base-url": peers.pingone.url, "auth-base-url": peers.pingone.url };
  await expect(registered("nameless", { ...idp, ...address })).rejects.toThrow("is not responding");
  const [event] = logged.mock.calls.map(([line]) => JSON.parse(String(line)));
  expect(event).toMatchObject({ event: "secret_missing", secret: "idp-nameless-client-secret" });
});

describe("the hosts that may get secrets", () => {
  test("limit each call too: without its host, nothing reaches an IdP", async () => {
    const connector = await testConnector(peers);
    const environment = environmentOf(peers, connector.storage);
    const start = readAllSettings(environment).connector;
    if (start === undefined) throw new Error("the connector is not served");
    const idps = (secretHosts: readonly string[]) =>
      openConnectorContext(connector.deployment, { ...start, idps: { ...start.idps, secretHosts } }).idps;
    const ask = (secretHosts: readonly string[]) =>
      idps(secretHosts).get("entra")?.creationOptions({ userId: newUser(), tag: "t" }, AbortSignal.timeout(20_000));
    await expect(ask([])).rejects.toMatchObject({ kind: "unreachable" });
    expect(peers.entra.requests()).toEqual([]);
    expect(await ask(start.idps.secretHosts)).toBeDefined();
  });
});
