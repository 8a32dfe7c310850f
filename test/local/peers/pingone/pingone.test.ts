import { generateKeyPairSync } from "node:crypto";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { exportJWK, SignJWT } from "jose";
import { afterEach, beforeAll, beforeEach, describe, expect, onTestFinished, test } from "vitest";
import { type PingOne, type PingOneOptions, startPingOne } from "../../../../local/peers/pingone/pingone.ts";
import { type Authenticator, createAuthenticator } from "../../../../local/peers/security-key/authenticator.ts";
import { createAuthenticatorKeys } from "../../../../local/peers/security-key/authenticator-keys.ts";

const ENVIRONMENT = "11111111-2222-3333-4444-555555555555";
const USER = "jan@example.com";
const ORIGIN = "https://keys.example";
const ACTIVATION = "application/vnd.pingidentity.device.activate+json";

const { privateKey, publicKey } = generateKeyPairSync("rsa", { modulusLength: 2048 });
let authenticator: Authenticator;
let options: PingOneOptions;
let pingone: PingOne;
let token: string;

beforeAll(async () => {
  authenticator = createAuthenticator(await createAuthenticatorKeys());
  options = {
    environmentId: ENVIRONMENT,
    clientId: "connector",
    clientSecret: "pingone-secret",
    clientKey: await exportJWK(publicKey),
    attestationRoot: authenticator.rootCertificate,
  };
});

beforeEach(async () => {
  pingone = await startPingOne(options);
  token = await newToken();
});

afterEach(() => pingone.close());

const askToken = (form: Record<string, string>, environment = ENVIRONMENT) =>
  fetch(`${pingone.url}/${environment}/as/token`, {
    method: "POST",
    body: new URLSearchParams({ grant_type: "client_credentials", client_id: "connector", ...form }),
  });
const newToken = async () => {
  const answer = await askToken({ client_secret: "pingone-secret" });
  return ((await answer.json()) as { access_token: string }).access_token;
};

const call = (method: string, path: string, body?: unknown, type = "application/json") =>
  fetch(`${pingone.url}/v1/environments/${ENVIRONMENT}/users${path}`, {
    method,
    headers: { authorization: `Bearer ${token}`, "content-type": type },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  });
const control = (path: string, body: unknown = {}) =>
  fetch(`${pingone.url}/_control/${path}`, { method: "POST", body: JSON.stringify(body) });
const refusal = async (answer: Response) => {
  const { id, code, message } = (await answer.json()) as Record<string, unknown>;
  expect([id, message]).toEqual([expect.any(String), expect.any(String)]);
  return [answer.status, code];
};

interface User {
  readonly id: string;
  readonly username: string;
}
const search = (filter: string) => call("GET", `?${new URLSearchParams({ filter })}`);
const find = async (name = USER) => {
  const found = (await (await search(`username eq ${JSON.stringify(name)}`)).json()) as {
    _embedded: { users: User[] };
  };
  return found._embedded.users;
};
const idOf = async (name = USER) => (await find(name))[0]?.id ?? "";

interface PendingDevice {
  readonly id: string;
  readonly status: string;
  readonly path: string;
  readonly publicKeyCredentialCreationOptions: string;
}
const rp = { id: "keys.example", name: "Keys" };
const create = async (name = USER) => call("POST", `/${await idOf(name)}/devices`, { type: "FIDO2", rp });
const begin = async (name = USER): Promise<PendingDevice> => {
  const pending = (await (await create(name)).json()) as PendingDevice;
  return { ...pending, path: `/${await idOf(name)}/devices/${pending.id}` };
};

const base64 = (base64url: string) => Buffer.from(base64url, "base64url").toString("base64");
function credentialFor(pending: PendingDevice, { origin = ORIGIN, maker = authenticator, rpId = rp.id } = {}) {
  const options = JSON.parse(pending.publicKeyCredentialCreationOptions) as { challenge: number[] };
  const challenge = Buffer.from(Int8Array.from(options.challenge)).toString("base64url");
  const pubKeyCredParams = [{ type: "public-key", alg: -7 }];
  const { id, clientDataJSON, attestationObject } = maker.create(
    { rp: { id: rpId }, challenge, pubKeyCredParams },
    origin,
  );
  const response = { clientDataJSON: base64(clientDataJSON), attestationObject: base64(attestationObject) };
  return { id, type: "public-key", rawId: base64(id), response, clientExtensionResults: {} };
}
const activate = (pending: PendingDevice, attestation: unknown, origin = ORIGIN, type = ACTIVATION) =>
  call("POST", pending.path, { origin, attestation: JSON.stringify(attestation) }, type);

describe("the token endpoint", () => {
  const assertion = (change: Record<string, unknown> = {}, alg = "RS256") =>
    new SignJWT({
      iss: "connector",
      sub: "connector",
      aud: `${pingone.url}/${ENVIRONMENT}/as/token`,
      exp: Math.floor(Date.now() / 1000) + 300,
      ...change,
    })
      .setProtectedHeader({ alg })
      .sign(privateKey);
  const asAssertion = (client_assertion: string) => ({
    client_assertion_type: "urn:ietf:params:oauth:client-assertion-type:jwt-bearer",
    client_assertion,
  });

  test("grants a token by secret or by signed assertion", async () => {
    for (const proof of [{ client_secret: "pingone-secret" }, asAssertion(await assertion())]) {
      const answer = await askToken(proof);
      expect(await answer.json()).toEqual({ access_token: expect.any(String), token_type: "Bearer", expires_in: 3600 });
    }
  });

  test("refuses every wrong proof, including PSS, which PingOne does not support", async () => {
    const wrong = [
      { client_secret: "wrong" },
      {},
      { client_secret: "pingone-secret", client_id: "other" },
      { client_assertion: await assertion() },
      asAssertion(await assertion({ aud: "https://other.example" })),
      asAssertion(await assertion({ sub: "other" })),
      asAssertion(await assertion({ exp: Math.floor(Date.now() / 1000) - 120 })),
      asAssertion(await assertion({ exp: undefined })),
      asAssertion(await assertion({}, "PS256")),
    ];
    for (const proof of wrong) {
      const answer = await askToken(proof as Record<string, string>);
      expect([answer.status, ((await answer.json()) as { error: string }).error]).toEqual([401, "invalid_client"]);
    }
    expect((await askToken({ client_secret: "pingone-secret", grant_type: "password" })).status).toBe(400);
    expect((await askToken({ client_secret: "pingone-secret" }, "other")).status).toBe(404);
  });

  test("grants tokens that expire and can be revoked", async () => {
    expect((await control("settings", { expiresIn: 0 })).status).toBe(204);
    expect((await search('username eq "x"')).status).toBe(200);
    token = await newToken();
    expect(await refusal(await search('username eq "x"'))).toEqual([401, "ACCESS_FAILED"]);
    pingone.settings({ expiresIn: 60 });
    token = await newToken();
    await control("revoke-tokens");
    expect((await search('username eq "x"')).status).toBe(401);
  });
});

describe("users", () => {
  test("are found by name, ignoring case; one whose name begins with unknown does not exist", async () => {
    const [found, ...others] = await find();
    expect(found).toMatchObject({ id: expect.stringMatching(/^[0-9a-f-]{36}$/), username: USER, enabled: true });
    expect(others).toEqual([]);
    expect(await idOf(USER.toUpperCase())).toBe(found?.id);
    expect(await idOf("other@example.com")).not.toBe(found?.id);
    expect(await find("Unknown.person")).toEqual([]);
    expect(await (await call("GET", `/${found?.id}`)).json()).toEqual(found);
  });

  test("can be searched by user name only", async () => {
    for (const filter of ["", 'email eq "x"', 'username sw "x"', 'username eq "a" or username eq "b"', "username eq a"])
      expect(await refusal(await search(filter))).toEqual([400, "INVALID_FILTER"]);
  });

  test("can be blocked or removed between options and activation", async () => {
    const pending = await begin();
    const credential = credentialFor(pending);
    for (const [accountStatus, refused] of [
      ["unknown", [404, "NOT_FOUND"]],
      ["forbidden", [403, "ACCESS_FAILED"]],
      ["blocked", [400, "INVALID_DATA"]],
    ] as const) {
      expect((await control(`users/${USER.toUpperCase()}`, { accountStatus })).status).toBe(204);
      expect(await refusal(await activate(pending, credential))).toEqual(refused);
    }
    pingone.setUser(USER, "known");
    expect((await activate(pending, credential)).status).toBe(200);
    expect((await control(`users/${USER}`, { accountStatus: "absent" })).status).toBe(400);
  });

  test("whose name begins with blocked may have no keys", async () => {
    expect(await refusal(await create("blocked.person"))).toEqual([400, "INVALID_DATA"]);
  });

  test("of another environment are not found", async () => {
    const answer = await fetch(`${pingone.url}/v1/environments/other/users`, {
      headers: { authorization: `Bearer ${token}` },
    });
    expect(await refusal(answer)).toEqual([404, "NOT_FOUND"]);
  });
});

describe("a device", () => {
  test("is pending with options in a string, then active with a key that was verified, and bears a name", async () => {
    const pending = await begin();
    expect(pending.status).toBe("ACTIVATION_REQUIRED");
    const options = JSON.parse(pending.publicKeyCredentialCreationOptions);
    expect(options.challenge).toHaveLength(32);
    expect(options.pubKeyCredParams).toContainEqual({ type: "public-key", alg: "-7" });
    const credential = credentialFor(pending);
    const active = await activate(pending, credential);
    expect([active.status, await active.json()]).toEqual([200, expect.objectContaining({ status: "ACTIVE" })]);
    expect((await call("PUT", `${pending.path}/nickname`, { nickname: "Desk key: 1" })).status).toBe(200);
    expect(await (await call("GET", pending.path)).json()).toMatchObject({ status: "ACTIVE", nickname: "Desk key: 1" });
    const registration = { userId: USER, credentialId: credential.id, displayName: "Desk key: 1" };
    expect(pingone.registrations()).toEqual([registration]);
    const shown = await fetch(`${pingone.url}/_control/registrations?user_id=${encodeURIComponent(USER)}`);
    expect(await shown.json()).toEqual([registration]);
    expect(pingone.registrations("other@example.com")).toEqual([]);

    const again = JSON.parse((await begin()).publicKeyCredentialCreationOptions);
    const excluded = Buffer.from(Int8Array.from(again.excludeCredentials[0].id)).toString("base64url");
    expect(excluded).toBe(credential.id);
  });

  test("is activated once, by a good attestation for its own challenge alone", async () => {
    const [pending, other] = [await begin(), await begin()];
    const unregistered = createAuthenticator(await createAuthenticatorKeys());
    const good = credentialFor(pending);
    const response = (change: object) => ({ ...good, response: { ...good.response, ...change } });
    const wrong = {
      "another challenge": credentialFor(other),
      "another maker": credentialFor(pending, { maker: unregistered }),
      "another relying party": credentialFor(pending, { rpId: "other.example" }),
      "another origin": credentialFor(pending, { origin: "https://other.example" }),
      "another id": { ...good, id: "AAAA", rawId: "AAAA" },
      "ids that differ": { ...good, rawId: "AAAA" },
      "base64url client data": response({ clientDataJSON: "-_8" }),
      "no padding": response({ attestationObject: "AAA" }),
      "no JSON": "{",
    };
    for (const [why, attestation] of Object.entries(wrong))
      expect(await refusal(await activate(pending, attestation)), why).toEqual([400, "INVALID_DATA"]);
    expect(await refusal(await call("POST", pending.path, { origin: ORIGIN, attestation: good }, ACTIVATION))).toEqual([
      400,
      "INVALID_DATA",
    ]);
    expect(pingone.registrations()).toEqual([]);
    const both = await Promise.all([activate(pending, good), activate(pending, good)]);
    expect(both.map(({ status }) => status).sort()).toEqual([200, 400]);
    expect(pingone.registrations()).toHaveLength(1);
  });

  test("requires the origin that the key signed, and one of its relying party", async () => {
    const pending = await begin();
    const elsewhere = "https://login.keys.example";
    expect((await activate(pending, credentialFor(pending), elsewhere)).status).toBe(400);
    for (const origin of ["https://notkeys.example", "http://keys.example", "https://keys.example/"])
      expect((await activate(pending, credentialFor(pending, { origin }), origin)).status, origin).toBe(400);
    expect((await activate(pending, credentialFor(pending, { origin: elsewhere }), elsewhere)).status).toBe(200);
  });

  test("requires the media type of the activation", async () => {
    const pending = await begin();
    expect((await activate(pending, credentialFor(pending), ORIGIN, "application/json")).status).toBe(415);
  });

  test("is not activated with an expired challenge", async () => {
    const pending = await begin();
    expect((await control("expire-challenges")).status).toBe(204);
    expect(await refusal(await activate(pending, credentialFor(pending)))).toEqual([400, "INVALID_DATA"]);
  });

  test("is one of few: the cap is answered as throttling with a detail, and pending ones count", async () => {
    expect((await control("settings", { maxDevices: 1 })).status).toBe(204);
    const pending = await begin();
    const capped = await create();
    expect([capped.status, await capped.json()]).toEqual([
      429,
      expect.objectContaining({
        code: "REQUEST_LIMITED",
        details: [expect.objectContaining({ code: "LIMIT_EXCEEDED" })],
      }),
    ]);
    expect(capped.headers.has("retry-after")).toBe(false);
    expect((await create("other@example.com")).status).toBe(201);
    expect((await call("DELETE", pending.path)).status).toBe(204);
    expect((await call("DELETE", pending.path)).status).toBe(404);
    expect((await create()).status).toBe(201);
  });

  test("is written in base64 if set so", async () => {
    pingone.settings({ bytes: "base64" });
    const options = JSON.parse((await begin()).publicKeyCredentialCreationOptions);
    expect(options.challenge).toMatch(/^[A-Za-z0-9+/]{43}=$/);
  });

  test("requires a complete body", async () => {
    for (const body of [{}, { type: "SMS", rp }, { type: "FIDO2", rp: { id: "" } }])
      expect((await call("POST", `/${await idOf()}/devices`, body)).status).toBe(400);
    expect((await control("settings", { maxDevice: 1 })).status).toBe(400);
  });
});

test("a restarted environment knows its tokens, users and devices", async () => {
  const folder = mkdtempSync(join(tmpdir(), "pingone-"));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  const kept = { ...options, statePath: join(folder, "pingone.json") };
  await pingone.close();
  pingone = await startPingOne(kept);
  token = await newToken();
  pingone.setUser("gone@example.com", "unknown");
  const [first, second] = [await begin(), await begin()];
  expect((await activate(first, credentialFor(first))).status).toBe(200);
  await pingone.close();

  pingone = await startPingOne(kept);
  expect((await activate(first, credentialFor(first))).status).toBe(400);
  expect((await activate(second, credentialFor(second))).status).toBe(200);
  expect(await find("gone@example.com")).toEqual([]);
  expect(pingone.registrations(USER)).toHaveLength(2);
});
