import { randomUUID } from "node:crypto";
import { afterEach, beforeAll, beforeEach, describe, expect, onTestFinished, test, vi } from "vitest";
import { type Entra, type EntraOptions, startEntra } from "../../../../local/peers/entra/entra.ts";
import { type Authenticator, createAuthenticator } from "../../../../local/peers/security-key/authenticator.ts";
import { createAuthenticatorKeys } from "../../../../local/peers/security-key/authenticator-keys.ts";

const TENANT = "11111111-2222-3333-4444-555555555555";
const USER = "jan@example.com";
const ORIGIN = "https://login.microsoft.com";

let authenticator: Authenticator;
let options: EntraOptions;
let entra: Entra;
let token: string;

beforeAll(async () => {
  authenticator = createAuthenticator(await createAuthenticatorKeys());
  options = {
    tenantId: TENANT,
    clientId: "connector",
    clientSecret: "entra-secret",
    attestationRoot: authenticator.rootCertificate,
  };
});

beforeEach(async () => {
  entra = await startEntra(options);
  token = await newToken();
});

afterEach(() => entra.close());

const askToken = (form: Record<string, string>, tenant = TENANT) =>
  fetch(`${entra.url}/${tenant}/oauth2/v2.0/token`, {
    method: "POST",
    body: new URLSearchParams({
      grant_type: "client_credentials",
      client_id: "connector",
      scope: "https://graph.microsoft.com/.default",
      ...form,
    }),
  });
const newToken = async () => {
  const answer = await askToken({ client_secret: "entra-secret" });
  return ((await answer.json()) as { access_token: string }).access_token;
};

const graph = (method: string, path: string, body?: unknown) =>
  fetch(entra.url + path, {
    method,
    headers: { authorization: `Bearer ${token}`, "client-request-id": "caller-1" },
    ...(body === undefined ? {} : { body: typeof body === "string" ? body : JSON.stringify(body) }),
  });
const methodsOf = (user = USER, version = "beta") =>
  `/${version}/users/${encodeURIComponent(user)}/authentication/fido2Methods`;

interface Options {
  challengeTimeoutDateTime: string;
  publicKey: Parameters<Authenticator["create"]>[0] & { excludeCredentials: object[]; user: { id: string } };
}
const creationOptions = async (user = USER, minutes = 43_200) => {
  const answer = await graph("GET", `${methodsOf(user)}/creationOptions(challengeTimeoutInMinutes=${minutes})`);
  return (await answer.json()) as Options;
};
const credentialFor = ({ publicKey }: Options, origin = ORIGIN) => {
  const { id, ...response } = authenticator.create(publicKey, origin);
  return {
    displayName: "Pre-Reg Key: 30000001",
    publicKeyCredential: { id, response, clientExtensionResults: {} },
  };
};
const register = (body: unknown, user = USER) => graph("POST", methodsOf(user), body);
const refusal = async (answer: Response) => {
  const { error } = (await answer.json()) as { error: { code: string; message: string; innerError: object } };
  expect(error).toEqual({
    code: expect.any(String),
    message: expect.any(String),
    innerError: {
      date: expect.stringMatching(/^\d{4}-\d\d-\d\dT[\d:]+$/),
      "request-id": expect.any(String),
      "client-request-id": "caller-1",
    },
  });
  return [answer.status, error.code];
};

describe("creation options", () => {
  test("come with a large challenge that lasts as long as asked, and no longer than 30 days", async () => {
    vi.useFakeTimers({ toFake: ["Date"], now: Date.now() });
    onTestFinished(() => void vi.useRealTimers());
    for (const minutes of [5, 20_160, 43_200]) {
      const { challengeTimeoutDateTime, publicKey } = await creationOptions(USER, minutes);
      expect(Date.parse(challengeTimeoutDateTime)).toBe(Math.floor(Date.now() / 1000) * 1000 + minutes * 60_000);
      expect(challengeTimeoutDateTime).toMatch(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$/);
      expect(publicKey.challenge).toMatch(/^[A-Za-z0-9_-]{6900}$/);
      expect(publicKey).toMatchObject({
        rp: { id: "login.microsoft.com", name: "Microsoft" },
        user: { name: USER, displayName: "jan" },
        pubKeyCredParams: [{ alg: -7 }, { alg: -257 }],
        excludeCredentials: [],
        attestation: "direct",
      });
    }
    for (const minutes of ["4", "43201", "0", "-5", "5.5", "x", ""]) {
      const path = `${methodsOf()}/creationOptions(challengeTimeoutInMinutes=${minutes})`;
      expect(await refusal(await graph("GET", path)), minutes).toEqual([400, "BadRequest"]);
    }
  });

  test("last five minutes in v1.0, which takes no parameter", async () => {
    vi.useFakeTimers({ toFake: ["Date"], now: Date.now() });
    onTestFinished(() => void vi.useRealTimers());
    const end = Math.floor(Date.now() / 1000) * 1000 + 300_000;
    for (const call of ["creationOptions", "creationOptions()"])
      for (const version of ["v1.0", "beta"]) {
        const answer = await graph("GET", `${methodsOf(USER, version)}/${call}`);
        const { challengeTimeoutDateTime } = (await answer.json()) as Options;
        expect(Date.parse(challengeTimeoutDateTime)).toBe(end);
      }
    const path = `${methodsOf(USER, "v1.0")}/creationOptions(challengeTimeoutInMinutes=5)`;
    expect(await refusal(await graph("GET", path))).toEqual([400, "BadRequest"]);
  });

  test("asked for by a query instead of the function form are 405, as is any other method", async () => {
    const query = `${methodsOf()}/creationOptions?challengeTimeoutInMinutes=60`;
    expect(await refusal(await graph("GET", query))).toEqual([405, "methodNotAllowed"]);
    expect(await refusal(await graph("POST", `${methodsOf()}/creationOptions`))).toEqual([405, "methodNotAllowed"]);
    expect(await refusal(await graph("PUT", methodsOf()))).toEqual([405, "methodNotAllowed"]);
  });

  test("are for users by principal name, object id, guest name or quoted key", async () => {
    for (const user of [USER, randomUUID(), "jan_example.com#EXT#@tenant.example"])
      expect((await creationOptions(user)).publicKey.user).toMatchObject({ name: user });
    const quoted = "/beta/users('$jan@example.com')/authentication/fido2Methods/creationOptions";
    expect((await graph("GET", quoted)).status).toBe(200);
  });
});

describe("a key", () => {
  test("keeps its challenge when it is refused", async () => {
    const given = await creationOptions();
    expect((await register(credentialFor(given, "https://evil.example"))).status).toBe(400);
    expect((await register(credentialFor(given))).status).toBe(201);
  });

  test("is refused where the body is wrong", async () => {
    const good = credentialFor(await creationOptions());
    const { publicKeyCredential } = good;
    const bodies = {
      "no JSON": "{",
      "no credential": { displayName: "x" },
      "a name over 30 characters": { ...good, displayName: "x".repeat(31) },
      "standard base64": { ...good, publicKeyCredential: { ...publicKeyCredential, id: "a+b/==" } },
      "client data that is not JSON": {
        ...good,
        publicKeyCredential: {
          ...publicKeyCredential,
          response: { ...publicKeyCredential.response, clientDataJSON: "AAAA" },
        },
      },
    };
    for (const [why, body] of Object.entries(bodies))
      expect(await refusal(await register(body)), why).toEqual([400, "BadRequest"]);
    expect((await register({ ...good, displayName: "x".repeat(30) })).status).toBe(201);
  });
});

describe("users", () => {
  test("are not accessible without a valid token", async () => {
    token = "wrong";
    for (const path of [methodsOf(), `${methodsOf()}/creationOptions`, methodsOf("unknown@example.com")])
      expect(await refusal(await graph("GET", path))).toEqual([401, "InvalidAuthenticationToken"]);
  });
});
