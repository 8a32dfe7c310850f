import { afterEach, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { type PingOne, type PingOneOptions, startPingOne } from "../../../../local/peers/pingone/pingone.ts";
import { type Authenticator, createAuthenticator } from "../../../../local/peers/security-key/authenticator.ts";
import { createAuthenticatorKeys } from "../../../../local/peers/security-key/authenticator-keys.ts";

const ENVIRONMENT = "11111111-2222-3333-4444-555555555555";
const USER = "jan@example.com";
const ORIGIN = "https://keys.example";
const ACTIVATION = "application/vnd.pingidentity.device.activate+json";

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
function credentialFor(pending: PendingDevice, { origin = ORIGIN } = {}) {
  const options = JSON.parse(pending.publicKeyCredentialCreationOptions) as { challenge: number[] };
  const challenge = Buffer.from(Int8Array.from(options.challenge)).toString("base64url");
  const pubKeyCredParams = [{ type: "public-key", alg: -7 }];
  const { id, clientDataJSON, attestationObject } = authenticator.create({ rp, challenge, pubKeyCredParams }, origin);
  const response = { clientDataJSON: base64(clientDataJSON), attestationObject: base64(attestationObject) };
  return { id, type: "public-key", rawId: base64(id), response, clientExtensionResults: {} };
}
const activate = (pending: PendingDevice, attestation: unknown, origin = ORIGIN, type = ACTIVATION) =>
  call("POST", pending.path, { origin, attestation: JSON.stringify(attestation) }, type);
describe("users", () => {
  test("can be searched by user name only", async () => {
    for (const filter of ["", 'email eq "x"', 'username sw "x"', 'username eq "a" or username eq "b"', "username eq a"])
      expect(await refusal(await search(filter))).toEqual([400, "INVALID_FILTER"]);
  });

  test("of another environment are not found", async () => {
    const answer = await fetch(`${pingone.url}/v1/environments/other/users`, {
      headers: { authorization: `Bearer ${token}` },
    });
    expect(await refusal(answer)).toEqual([404, "NOT_FOUND"]);
  });
});

describe("a device", () => {
  test("requires the origin that the key signed, and one of its relying party", async () => {
    const pending = await begin();
    const elsewhere = "https://login.keys.example";
    expect((await activate(pending, credentialFor(pending), elsewhere)).status).toBe(400);
    for (const origin of ["https://notkeys.example", "http://keys.example", "https://keys.example/"])
      expect((await activate(pending, credentialFor(pending, { origin }), origin)).status, origin).toBe(400);
    expect((await activate(pending, credentialFor(pending, { origin: elsewhere }), elsewhere)).status).toBe(200);
  });

  test("requires an attestation in the form of PingOne, as a text", async () => {
    const pending = await begin();
    const good = credentialFor(pending);
    const response = (change: object) => ({ ...good, response: { ...good.response, ...change } });
    const wrong = {
      "ids that differ": { ...good, rawId: "AAAA" },
      "base64url client data": response({ clientDataJSON: "-_8" }),
      "no padding": response({ attestationObject: "AAA" }),
      "no JSON": "{",
    };
    for (const [why, attestation] of Object.entries(wrong))
      expect(await refusal(await activate(pending, attestation)), why).toEqual([400, "INVALID_DATA"]);
    const object = await call("POST", pending.path, { origin: ORIGIN, attestation: good }, ACTIVATION);
    expect(await refusal(object)).toEqual([400, "INVALID_DATA"]);
  });

  test("requires the media type of the activation", async () => {
    const pending = await begin();
    expect((await activate(pending, credentialFor(pending), ORIGIN, "application/json")).status).toBe(415);
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

  test("requires a complete body", async () => {
    for (const body of [{}, { type: "SMS", rp }, { type: "FIDO2", rp: { id: "" } }])
      expect((await call("POST", `/${await idOf()}/devices`, body)).status).toBe(400);
    expect((await control("settings", { maxDevice: 1 })).status).toBe(400);
  });
});
