import { randomBytes } from "node:crypto";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Webhook } from "standardwebhooks";
import { afterAll, beforeAll, describe, expect, test, vi } from "vitest";
import { stringify } from "yaml";
import { createPasswordHasher } from "../../lib/auth/passwords/password-hash.ts";
import { userIn } from "../../lib/auth/users/user-rows.table.ts";
import { keyRing } from "../../lib/platform/azure/cached-secrets.ts";
import { openSecrets } from "../../lib/platform/azure/secrets.ts";
import { localCredential } from "../../lib/platform/azure/services.ts";
import { openTables } from "../../lib/platform/azure/tables.ts";
import { omitUndefined } from "../../lib/platform/collections.ts";
import { createLog } from "../../lib/platform/log.ts";
import { instant, minutes, seconds } from "../../lib/platform/time.ts";
import { installFunctionsCore } from "../../local/host/functions-core.ts";
import { type LocalHost, startHost } from "../../local/host/host.ts";
import { startAic } from "../../local/peers/aic/aic.ts";
import { closePeers, peerSettings, startPeers } from "../../local/peers/all.ts";
import { startDelivery } from "../../local/peers/delivery/delivery.ts";
import { startEntra } from "../../local/peers/entra/entra.ts";
import { startPingOne } from "../../local/peers/pingone/pingone.ts";
import type { ReceivedEvent } from "../../local/peers/sink/sink.ts";
import { createStores } from "../../local/start/system.ts";
import { localTokens } from "../../local/start/tokens.ts";
import { hotpKey, yubicoKey } from "../support/auth/software-key.ts";
import { simulatedServer } from "../support/auth/validation-server.ts";
import { certifiedKey } from "../support/connector/certified-key.ts";
import { newSinkSecret } from "../support/connector/event-sinks.ts";
import { newUser, orderBody } from "../support/connector/test-connector.ts";
import { freshStorage } from "../support/storage/fresh-storage.ts";
import { until } from "../support/until.ts";

const newSecret = () => randomBytes(32).toString("base64url");
/** `secretMaxAgeMs` of the deployment. */
const maxAge = minutes(5);
/** An access token that is refused is renewed from this age on. */
const renewable = seconds(11);
const advance = (ms: number) => void vi.setSystemTime(Date.now() + ms);

/** What peers accept: each reads it at every call. */
const accepted = {
  delivery: { token: newSecret(), shipAfterMs: 0 },
  validation: new Uint8Array(randomBytes(20)),
};
const client = (): {
  clientId: string;
  clientSecret: string;
  clientKey?: Awaited<ReturnType<typeof certifiedKey>>["publicKey"];
} => ({
  clientId: "connector",
  clientSecret: newSecret(),
});

async function start() {
  const peers = await startPeers();
  const { vault } = peers;
  const delivery = await startDelivery(accepted.delivery);
  vault.set("delivery-api-token", accepted.delivery.token);
  vault.set("otp-validation-key", Buffer.from(accepted.validation).toString("base64"));
  const { attestationRoot } = delivery;
  const idps = {
    entra: { ...client(), tenantId: "tenant", attestationRoot },
    pingone: { ...client(), environmentId: "0b6e1c1e-52a0-4e0c-8f0d-6a4f3f1c2d55", attestationRoot },
    aic: {
      ...client(),
      realm: "alpha",
      journey: "RegisterKey",
      relyingPartyId: "aic.example.com",
      attestationRoot,
      // Longer than the production of a shipped security key.
      journeySeconds: 604_800,
    },
  };
  const [entra, pingone, aic] = await Promise.all([
    startEntra(idps.entra),
    startPingOne(idps.pingone),
    startAic(idps.aic),
  ]);
  for (const [id, { clientSecret }] of Object.entries(idps)) vault.set(`idp-${id}-client-secret`, clientSecret);
  const file = {
    entra: {
      type: "entra",
      "tenant-id": idps.entra.tenantId,
      "client-id": idps.entra.clientId,
      "graph-endpoint": entra.url,
      "online-endpoint": entra.url,
    },
    pingone: {
      type: "pingone",
      "environment-id": idps.pingone.environmentId,
      "client-id": idps.pingone.clientId,
      "api-base-url": pingone.url,
      "auth-base-url": pingone.url,
      "default-relying-party": "pingone.example.com",
    },
    aic: {
      type: "aic",
      "api-base-url": aic.url,
      "auth-base-url": aic.url,
      realm: idps.aic.realm,
      journey: idps.aic.journey,
      "client-id": idps.aic.clientId,
    },
  };
  const validation = await simulatedServer(accepted.validation);
  return { peers, vault, delivery, idps, servers: { entra, pingone, aic }, file, validation };
}

let system: Awaited<ReturnType<typeof start>>;
let host: LocalHost;
const storage = freshStorage();
const directory = mkdtempSync(join(tmpdir(), "rotation-"));

beforeAll(async () => {
  vi.useFakeTimers({ toFake: ["Date"], now: Date.now(), shouldAdvanceTime: true });
  system = await start();
  const { peers, delivery, validation, file } = system;
  await createStores(storage.connectionString);
  const path = join(directory, "idps.yaml");
  writeFileSync(path, stringify(file));
  localTokens(peers.vault);
  peers.vault.set("event-sink-1", newSinkSecret());
  Object.assign(process.env, {
    SERVICE_APIS: "core,client,connector",
    ...peerSettings(peers),
    CLOUD_TABLES_ENDPOINT: storage.tableUrl,
    CLOUD_STORAGE_BLOB_ENDPOINT: storage.blobUrl,
    CLOUD_STORAGE_CONNECTION_STRING: storage.connectionString,
    DELIVERY_API_BASE_URL: delivery.url,
    DELIVERY_JWKS_SIGN_ENDPOINT: delivery.signJwksUrl,
    DELIVERY_JWKS_TRANSPORT_ENDPOINT: delivery.transportJwksUrl,
    IDP_ENABLE_MULTI_IDP: "true",
    IDP_CONFIGURATION_PATH: path,
    IDP_SECRET_HOSTS: [...new Set(stringify(file).match(/127\.0\.0\.1:\d+/g))].join(","),
    EVENT_SINK_URLS: `${peers.sink.url}/events`,
    OTP_VALIDATION_URLS: validation.url,
    OTP_VALIDATION_CLIENT_ID: validation.clientId,
    LOGGING_LEVEL_COM_SERVICE: "ERROR",
  });
  const core = installFunctionsCore();
  await import("../../functions/main.ts");
  host = await startHost(core, { port: 0, hostJson: JSON.parse(readFileSync("host.json", "utf8")), timers: false });
});

afterAll(async () => {
  await host.stop();
  const { peers, delivery, servers, validation } = system;
  const others = [delivery, ...Object.values(servers), validation];
  await Promise.all([closePeers(peers), ...others.map(peer => peer.close())]);
  rmSync(directory, { recursive: true });
  vi.useRealTimers();
});

/** Calls the host with a static token of the API. */
async function call(route: string, { body }: { readonly body?: object } = {}) {
  const [method = "", path = ""] = route.split(" ");
  const tokens = localTokens(system.vault);
  const token = path.startsWith("/core") ? tokens.core : tokens.connector;
  const response = await fetch(host.url + path, {
    method,
    headers: {
      authorization: `Bearer ${token}`,
      "x-functions-key": host.masterKey,
      ...(body && { "content-type": "application/json" }),
    },
    ...(body && { body: JSON.stringify(body) }),
  });
  const text = await response.text();
  return { status: response.status, body: text === "" ? undefined : JSON.parse(text) };
}

const done = async (route: string, body?: object) => {
  const answer = await call(route, route.startsWith("GET") ? {} : { body: body ?? {} });
  expect(answer.status, `${route}: ${JSON.stringify(answer.body)}`).toBeLessThan(300);
  return answer.body;
};

/** Makes a user who can sign in. */
async function signedUp() {
  const user = { username: `user-${newSecret().slice(0, 8)}`, password: newSecret() };
  const { id } = await done("POST /core/users", user);
  const authenticates = async (otp?: string): Promise<unknown> =>
    (await call("POST /client/authenticate", { body: { ...user, ...(otp && { otp }) } })).body;
  return { ...user, id: Number(id), authenticates };
}

/** Makes a version of a secret unusable, as an administrator does when it is not needed any more. */
async function disable(name: string, version: string): Promise<void> {
  const address = `${system.vault.url}/secrets/${name}/${version}?api-version=7.5`;
  const headers = { authorization: "Bearer administrator", "content-type": "application/json" };
  const body = JSON.stringify({ attributes: { enabled: false } });
  expect((await fetch(address, { method: "PATCH", headers, body })).status).toBe(200);
}

const readVault = () =>
  openSecrets({ endpoint: system.vault.url, credential: localCredential, timeoutMs: seconds(15) });
const versionOf = async (name: string) => (await readVault().get(name))?.version ?? "";
const rows = () => openTables({ connectionString: storage.connectionString, timeoutMs: seconds(15) });

/** What `check-peers` finds of a peer. */
async function isFine(peer: string, user?: object): Promise<boolean> {
  const { data } = await done("POST /maintenance/connector/check-peers", { users: user ? [user] : [] });
  const findings: { peer: string; ok: boolean }[] = data.findings;
  const own = findings.filter(finding => finding.peer === peer);
  expect(own.length).toBeGreaterThan(0);
  return own.every(({ ok }) => ok);
}

interface Rotated {
  /** In the vault. */
  readonly secret: string;
  /** Uses the secret. Returns whether that succeeded. */
  readonly works: () => Promise<boolean>;
  /** Makes the peer take nothing but a new one, which it returns. */
  readonly renew: () => string | Promise<string>;
}

/** Every secret of a peer, each rotated as docs/operate.md has it. */
const ofPeers: Readonly<Record<string, () => Promise<Rotated> | Rotated>> = {
  "the API token of the delivery service": () => ({
    secret: "delivery-api-token",
    works: () => isFine("delivery service"),
    renew: () => {
      accepted.delivery.token = newSecret();
      return accepted.delivery.token;
    },
  }),
  "the credential of the enrollment service": () => ({
    secret: "enrollment-credential",
    works: () => {
      system.peers.enrollment.revokeTokens();
      advance(renewable);
      return isFine("enrollment services");
    },
    renew: () => {
      const { enrollment } = system.peers;
      enrollment.revokeCredential(system.vault.get("enrollment-credential") ?? "");
      return enrollment.newCredential();
    },
  }),
  ...Object.fromEntries(
    (["entra", "pingone", "aic"] as const).map(id => [
      `the client secret of an identity provider of kind ${id}`,
      () => ({ ...atIdp(id), renew: () => renewSecret(id) }),
    ]),
  ),
  "the key and certificate that take the place of a client secret": async () => {
    system.vault.set("idp-entra-client-secret", await renewCertificate());
    advance(maxAge);
    return { ...atIdp("entra"), renew: renewCertificate };
  },
  "a client secret that a certificate takes the place of": () => {
    system.vault.set("idp-entra-client-secret", renewSecret("entra"));
    advance(maxAge);
    return { ...atIdp("entra"), renew: renewCertificate };
  },
  "the key that requests to validation servers are signed with": async () => {
    const user = await signedUp();
    const key = yubicoKey();
    system.validation.add(key);
    await done("POST /core/otpkeys", { prefix: key.prefix, kind: "remote" });
    await done(`POST /core/users/${user.id}/otpkeys`, { otpkey: key.prefix });
    let uses = 0;
    return {
      secret: "otp-validation-key",
      works: async () => (await user.authenticates(key.otp(++uses))) === true,
      renew: () => {
        accepted.validation.set(randomBytes(20));
        return Buffer.from(accepted.validation).toString("base64");
      },
    };
  },
};

function atIdp(id: "entra" | "pingone" | "aic"): Pick<Rotated, "secret" | "works"> {
  return {
    secret: `idp-${id}-client-secret`,
    works: () => {
      // An access token outlives the secret that it was given for.
      system.servers[id].revokeTokens();
      advance(renewable);
      return isFine(`IdP ${id}`, { idp_id: id, user_id: newUser() });
    },
  };
}

function renewSecret(id: "entra" | "pingone" | "aic"): string {
  system.idps[id].clientSecret = newSecret();
  return system.idps[id].clientSecret;
}

async function renewCertificate(): Promise<string> {
  const { publicKey, privateKey, certificate } = await certifiedKey("connector");
  Object.assign(system.idps.entra, { clientKey: publicKey, clientSecret: newSecret() });
  return privateKey + certificate;
}

describe("a new version of a peer's secret is taken without a restart when the old one was read 5 minutes ago", () => {
  test.each(Object.entries(ofPeers))("%s", async (_, open) => {
    const { secret, works, renew } = await open();
    expect(await works()).toBe(true);
    const old = system.vault.get(secret) ?? "";
    const next = await renew();
    expect(next).not.toBe(old);
    system.vault.set(secret, next);
    expect(await works()).toBe(false);
    advance(maxAge);
    expect(await works()).toBe(true);
  });
});

test("the data-encryption key: what is sealed opens on, reseal moves it to the new version, and nothing needs the old one then", async () => {
  const name = "data-encryption-key";
  const [user, key] = [await signedUp(), hotpKey()];
  await done("POST /core/otpkeys", key.fields);
  await done(`POST /core/users/${user.id}/otpkeys`, { otpkey: key.prefix });
  const ordered = await done("POST /v2/credential-requests", orderBody([1]));
  const old = await versionOf(name);
  system.vault.set(name, newSecret());

  expect(await user.authenticates(key.otp(0))).toBe(true);
  advance(minutes(10));
  expect(await user.authenticates(key.otp(1))).toBe(true);
  const late = hotpKey();
  await done("POST /core/otpkeys", late.fields);

  const sealedBy = async (prefix: string) => {
    const row = await rows().table("otpkeys").get(prefix, "key");
    return JSON.parse(Buffer.from(String(row?.sealedSecret).split(".")[0] ?? "", "base64url").toString()).kid;
  };
  expect(await sealedBy(key.prefix)).toBe(old);
  const next = await versionOf(name);
  expect(await sealedBy(late.prefix)).toBe(next);
  expect((await done("POST /maintenance/auth/reseal")).data).toMatchObject({ resealed: 1, failed: 0 });
  expect((await done("POST /maintenance/connector/reseal")).data).toMatchObject({ resealed: 1, failed: 0 });
  await disable(name, old);
  // It opens every row with a key ring that has read nothing yet.
  for (const service of ["auth", "connector"])
    expect((await done(`POST /maintenance/${service}/reseal`)).data).toMatchObject({ resealed: 0, failed: 0 });
  expect(await sealedBy(key.prefix)).toBe(next);
  expect(await user.authenticates(key.otp(2))).toBe(true);

  await done("GET /v2/operations/process-shipments");
  await done("POST /v2/operations/process-credential-requests");
  const { data } = await done(`POST /v2/credential-requests/${ordered.data.credential_request_id}/resend-pin`);
  expect(data).toEqual({ sent: 1, unsent: [] });
});

test("the pepper: an old hash stays valid, and is replaced at the next successful sign-in, so that the old version is not needed", async () => {
  const name = "password-pepper";
  const [returning, away] = [await signedUp(), await signedUp()];
  const storedOf = async (id: number) => {
    for await (const row of rows().table("users").scan()) {
      if (row.rowKey === "user" && Number(row.partitionKey) === id) return userIn(row)?.value.password;
    }
    return undefined;
  };
  const old = await versionOf(name);
  expect(await storedOf(returning.id)).toMatchObject({ pepper: old });
  system.vault.set(name, newSecret());
  const next = await versionOf(name);

  expect(await returning.authenticates()).toBe(true);
  expect(await storedOf(returning.id)).toMatchObject({ pepper: old });
  advance(maxAge);
  expect(await returning.authenticates()).toBe(true);
  expect(await storedOf(returning.id)).toMatchObject({ pepper: next });
  expect(await storedOf(away.id)).toMatchObject({ pepper: old });

  await disable(name, old);
  expect(await returning.authenticates()).toBe(true);
  // As a host that has just started reads the vault.
  const now = () => instant(Date.now());
  const caching = { maxAgeMs: maxAge, refreshAfterMs: minutes(1), now, log: createLog(() => {}) };
  const pepper = keyRing(readVault(), name, caching);
  const random = (size: number) => randomBytes(size);
  const hasher = createPasswordHasher({
    pepper,
    random,
    now,
    maxConcurrent: 1,
    maxSlots: 10,
    maxWaitMs: minutes(1),
  });
  const verified = async ({ id, password }: { id: number; password: string }) =>
    hasher.verify(password, omitUndefined({ id, password: await storedOf(id) }));
  expect(await verified(returning)).toBe(true);
  await expect(verified(away)).rejects.toThrow();
  // Who did not come back in time gets a new password.
  const password = newSecret();
  await done(`POST /core/users/${away.id}/reset`, { password });
  expect(await verified({ ...away, password })).toBe(true);
});

test("the signing secret of an event sink: events have a signature of both versions, until the former one is disabled", async () => {
  const { vault, peers } = system;
  const name = "event-sink-1";
  /** Returns the event of a new request, as the sink received it. */
  const newEvent = async (): Promise<ReceivedEvent> => {
    const { data } = await done("POST /v2/credential-requests", orderBody([1]));
    await done("POST /admin/functions/sendEvents");
    const find = () => peers.sink.events().find(({ body }) => body.includes(data.credential_request_id));
    await until(
      () => find() !== undefined,
      () => "the sink got no event",
    );
    const event = find();
    if (event === undefined) throw new Error("the sink got no event");
    return event;
  };
  const isSignedBy = (secret: string, { headers, body }: ReceivedEvent) => {
    try {
      return new Webhook(secret).verify(body, headers) !== undefined;
    } catch {
      return false;
    }
  };
  const [former, next] = [vault.get(name) ?? "", newSinkSecret()];
  const signers = async () => {
    const event = await newEvent();
    return [former, next].map(secret => isSignedBy(secret, event));
  };
  const formerVersion = await versionOf(name);
  expect(await signers()).toEqual([true, false]);
  vault.set(name, next);
  expect(await signers()).toEqual([true, false]);
  advance(maxAge);
  expect(await signers()).toEqual([true, true]);
  expect((await newEvent()).headers["webhook-signature"]).toMatch(/^v1,[\w+/]{43}= v1,[\w+/]{43}=$/);
  await disable(name, formerVersion);
  advance(maxAge);
  expect(await signers()).toEqual([false, true]);
});
