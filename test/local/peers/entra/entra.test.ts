import { generateKeyPairSync, randomUUID } from "node:crypto";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { exportJWK, type JWK, SignJWT } from "jose";
import { afterEach, beforeAll, beforeEach, describe, expect, onTestFinished, test, vi } from "vitest";
import { type Entra, type EntraOptions, startEntra } from "../../../../local/peers/entra/entra.ts";
import { type Authenticator, createAuthenticator } from "../../../../local/peers/security-key/authenticator.ts";
import { AAGUIDS, createAuthenticatorKeys } from "../../../../local/peers/security-key/authenticator-keys.ts";

const TENANT = "11111111-2222-3333-4444-555555555555";
const USER = "jan@example.com";
const ORIGIN = "https://login.microsoft.com";

const { privateKey, publicKey } = generateKeyPairSync("rsa", { modulusLength: 2048 });
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
    clientKey: (await exportJWK(publicKey)) as JWK,
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
const control = (path: string, body: unknown = {}) =>
  fetch(`${entra.url}/_control/${path}`, { method: "POST", body: JSON.stringify(body) });

interface Options {
  challengeTimeoutDateTime: string;
  publicKey: Parameters<Authenticator["create"]>[0] & { excludeCredentials: object[]; user: { id: string } };
}
const creationOptions = async (user = USER, minutes = 43_200) => {
  const answer = await graph("GET", `${methodsOf(user)}/creationOptions(challengeTimeoutInMinutes=${minutes})`);
  return (await answer.json()) as Options;
};
const credentialFor = ({ publicKey }: Options, origin = ORIGIN, maker = authenticator) => {
  const { id, ...response } = maker.create(publicKey, origin);
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

describe("the token endpoint", () => {
  const assertion = (change: Record<string, unknown> = {}, alg = "PS256") =>
    new SignJWT({
      iss: "connector",
      sub: "connector",
      aud: `${entra.url}/${TENANT}/oauth2/v2.0/token`,
      jti: randomUUID(),
      exp: Math.floor(Date.now() / 1000) + 300,
      ...change,
    })
      .setProtectedHeader({ alg, typ: "JWT" })
      .sign(privateKey);
  const asAssertion = (client_assertion: string) => ({
    client_assertion_type: "urn:ietf:params:oauth:client-assertion-type:jwt-bearer",
    client_assertion,
  });

  test("grants a token for an hour by secret or by signed assertion", async () => {
    for (const proof of [
      { client_secret: "entra-secret" },
      asAssertion(await assertion()),
      asAssertion(await assertion({}, "RS256")),
    ]) {
      const answer = await askToken(proof);
      expect(answer.status).toBe(200);
      const granted = (await answer.json()) as { access_token: string };
      expect(granted).toMatchObject({ token_type: "Bearer", expires_in: 3600 });
      token = granted.access_token;
      expect((await graph("GET", methodsOf())).status).toBe(200);
    }
  });

  test("refuses every wrong proof with 401 invalid_client", async () => {
    const good = await assertion();
    const wrong: Record<string, string>[] = [
      { client_secret: "wrong" },
      {},
      { client_secret: "entra-secret", client_id: "another" },
      asAssertion(`${good.slice(0, -8)}AAAAAAAA`),
      asAssertion(await assertion({ aud: "https://elsewhere.example" })),
      asAssertion(await assertion({ iss: "another" })),
      asAssertion(await assertion({ sub: "another" })),
      asAssertion(await assertion({ exp: 1 })),
      asAssertion(await assertion({ jti: undefined })),
      { ...asAssertion(good), client_assertion_type: "another" },
    ];
    for (const proof of wrong) {
      const answer = await askToken(proof);
      expect(answer.status, JSON.stringify(proof)).toBe(401);
      expect(await answer.json()).toMatchObject({
        error: "invalid_client",
        error_description: expect.stringMatching(/^AADSTS7000215/),
        error_codes: [7000215],
      });
    }
  });

  test("refuses assertions if the client has no key", async () => {
    const { clientKey: _, ...secretOnly } = options;
    await entra.close();
    entra = await startEntra(secretOnly);
    expect((await askToken(asAssertion(await assertion()))).status).toBe(401);
  });

  test("refuses another grant, an invalid scope and another tenant", async () => {
    const secret = { client_secret: "entra-secret" };
    expect(await (await askToken({ ...secret, grant_type: "password" })).json()).toMatchObject({
      error: "unsupported_grant_type",
    });
    expect(await (await askToken({ ...secret, scope: "User.Read" })).json()).toMatchObject({ error: "invalid_scope" });
    expect((await askToken(secret, "another-tenant")).status).toBe(404);
  });

  test("refuses tokens that have expired or were revoked", async () => {
    expect((await control("settings", { expiresIn: 60 })).status).toBe(204);
    token = await newToken();
    vi.useFakeTimers({ toFake: ["Date"], now: Date.now() });
    onTestFinished(() => void vi.useRealTimers());
    vi.setSystemTime(Date.now() + 59_000);
    expect((await graph("GET", methodsOf())).status).toBe(200);
    vi.setSystemTime(Date.now() + 1000);
    expect(await refusal(await graph("GET", methodsOf()))).toEqual([401, "InvalidAuthenticationToken"]);

    token = await newToken();
    expect((await graph("GET", methodsOf())).status).toBe(200);
    expect((await control("revoke-tokens")).status).toBe(204);
    expect((await graph("GET", methodsOf())).status).toBe(401);
  });
});

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
  test("is registered, listed under its credential id with the padding counted, and deleted", async () => {
    const body = credentialFor(await creationOptions());
    const { id } = body.publicKeyCredential;
    const answer = await register(body);
    expect(answer.status).toBe(201);
    const method = {
      "@odata.type": "#microsoft.graph.fido2AuthenticationMethod",
      id: `${id}1`,
      displayName: "Pre-Reg Key: 30000001",
      createdDateTime: expect.stringMatching(/Z$/),
      aaGuid: AAGUIDS.hardware,
      model: "Simulated Key",
      attestationCertificates: [expect.stringMatching(/^[0-9a-f]{40}$/)],
      attestationLevel: "attested",
      passkeyType: "deviceBound",
    };
    expect(await answer.json()).toEqual(method);
    expect(await (await graph("GET", methodsOf(USER.toUpperCase(), "v1.0"))).json()).toEqual({ value: [method] });
    expect(await (await graph("GET", methodsOf("other@example.com"))).json()).toEqual({ value: [] });
    expect(await (await graph("GET", `${methodsOf()}/${id}1`)).json()).toEqual(method);
    const registered = [{ userId: USER, credentialId: id, displayName: "Pre-Reg Key: 30000001" }];
    expect(entra.registrations()).toEqual(registered);
    expect(await (await fetch(`${entra.url}/_control/registrations`)).json()).toEqual(registered);
    expect((await creationOptions()).publicKey.excludeCredentials).toEqual([
      { id, type: "public-key", transports: [] },
    ]);

    expect((await graph("DELETE", `${methodsOf("other@example.com")}/${id}1`)).status).toBe(404);
    expect((await graph("DELETE", `${methodsOf()}/${id}1`)).status).toBe(204);
    expect(await refusal(await graph("DELETE", `${methodsOf()}/${id}1`))).toEqual([404, "ResourceNotFound"]);
    expect(entra.registrations()).toEqual([]);
  });

  test("is taken with either spelling of its client data, and without a name", async () => {
    const { publicKeyCredential } = credentialFor(await creationOptions());
    const { clientDataJSON, ...response } = publicKeyCredential.response;
    const spelled = { ...publicKeyCredential, response: { ...response, clientDataJson: clientDataJSON } };
    expect((await register({ publicKeyCredential: spelled })).status).toBe(201);
  });

  test("registers once: the same credential again is 409, also when sent twice at once", async () => {
    const body = credentialFor(await creationOptions());
    const answers = await Promise.all([register(body), register(body), register(body)]);
    expect(answers.map(({ status }) => status).sort()).toEqual([201, 409, 409]);
    expect(await refusal(await register(body))).toEqual([409, "Conflict"]);
    expect(await refusal(await register(credentialFor(await creationOptions("a@b.example")), USER))).toEqual([
      400,
      "BadRequest",
    ]);
    expect(entra.registrations()).toHaveLength(1);
  });

  test("uses up its challenge", async () => {
    const given = await creationOptions();
    expect((await register(credentialFor(given))).status).toBe(201);
    expect(await refusal(await register(credentialFor(given)))).toEqual([400, "BadRequest"]);
  });

  test("keeps its challenge when it is refused", async () => {
    const given = await creationOptions();
    expect((await register(credentialFor(given, "https://evil.example"))).status).toBe(400);
    expect((await register(credentialFor(given))).status).toBe(201);
  });

  test("is refused with an unknown, expired or other user's challenge", async () => {
    const given = await creationOptions();
    const unknown = { ...given, publicKey: { ...given.publicKey, challenge: "AAAA" } };
    expect(await refusal(await register(credentialFor(unknown)))).toEqual([400, "BadRequest"]);
    expect(await refusal(await register(credentialFor(given), "other@example.com"))).toEqual([400, "BadRequest"]);

    vi.useFakeTimers({ toFake: ["Date"], now: Date.parse(given.challengeTimeoutDateTime) - 1 });
    onTestFinished(() => void vi.useRealTimers());
    token = await newToken();
    expect((await register(credentialFor(given))).status).toBe(201);
    vi.useRealTimers();
    token = await newToken();
    const late = await creationOptions();
    vi.useFakeTimers({ toFake: ["Date"], now: Date.parse(late.challengeTimeoutDateTime) });
    token = await newToken();
    expect(await refusal(await register(credentialFor(late)))).toEqual([400, "BadRequest"]);
  });

  test("is refused after all challenges were expired", async () => {
    const given = await creationOptions();
    expect((await control("expire-challenges")).status).toBe(204);
    expect(await refusal(await register(credentialFor(given)))).toEqual([400, "BadRequest"]);
  });

  test("is refused if the attestation is not valid", async () => {
    const given = await creationOptions();
    const unregistered = createAuthenticator(await createAuthenticatorKeys());
    const otherRp = { ...given, publicKey: { ...given.publicKey, rp: { id: "login.example" } } };
    const other = credentialFor(given);
    const mixed = credentialFor(given);
    mixed.publicKeyCredential.id = other.publicKeyCredential.id;
    for (const [why, body] of Object.entries({
      "another maker": credentialFor(given, ORIGIN, unregistered),
      "another origin": credentialFor(given, "https://login.microsoftonline.com"),
      "another relying party": credentialFor(otherRp),
      "another id": mixed,
    }))
      expect(await refusal(await register(body)), why).toEqual([400, "BadRequest"]);
    expect(entra.registrations()).toEqual([]);
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
  test("whose name begins with unknown do not exist", async () => {
    for (const [method, path] of [
      ["GET", methodsOf("unknown.person@example.com")],
      ["POST", methodsOf("unknown.person@example.com")],
      ["GET", `${methodsOf("Unknown@example.com", "v1.0")}/creationOptions`],
    ] as const)
      expect(await refusal(await graph(method, path))).toEqual([404, "Request_ResourceNotFound"]);
  });

  test("whose name begins with blocked may have no keys", async () => {
    const user = "blocked.guest@example.com";
    expect(await refusal(await graph("GET", `${methodsOf(user)}/creationOptions`))).toEqual([400, "BadRequest"]);
    expect(await refusal(await register(credentialFor(await creationOptions()), user))).toEqual([400, "BadRequest"]);
    expect((await graph("GET", methodsOf(user))).status).toBe(200);
  });

  test("can be blocked or removed between options and registration", async () => {
    const body = credentialFor(await creationOptions());
    for (const [accountStatus, refused] of [
      ["unknown", [404, "Request_ResourceNotFound"]],
      ["forbidden", [403, "accessDenied"]],
      ["blocked", [400, "BadRequest"]],
    ] as const) {
      expect((await control(`users/${USER.toUpperCase()}`, { accountStatus })).status).toBe(204);
      expect(await refusal(await register(body))).toEqual(refused);
    }
    entra.setUser(USER, "known");
    expect((await register(body)).status).toBe(201);
    expect((await control(`users/${USER}`, { accountStatus: "absent" })).status).toBe(400);
  });

  test("are not accessible without a valid token", async () => {
    token = "wrong";
    for (const path of [methodsOf(), `${methodsOf()}/creationOptions`, methodsOf("unknown@example.com")])
      expect(await refusal(await graph("GET", path))).toEqual([401, "InvalidAuthenticationToken"]);
  });
});

test("a restarted tenant knows its tokens, challenges, users and keys", async () => {
  const folder = mkdtempSync(join(tmpdir(), "entra-"));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  const kept = { ...options, statePath: join(folder, "entra.json") };
  await entra.close();
  entra = await startEntra(kept);
  token = await newToken();
  entra.setUser("gone@example.com", "unknown");
  const first = credentialFor(await creationOptions());
  const second = credentialFor(await creationOptions());
  expect((await register(first)).status).toBe(201);
  await entra.close();

  entra = await startEntra(kept);
  expect((await register(first)).status).toBe(409);
  expect((await register(second)).status).toBe(201);
  expect((await graph("GET", methodsOf("gone@example.com"))).status).toBe(404);
  expect(entra.registrations()).toHaveLength(2);
});
