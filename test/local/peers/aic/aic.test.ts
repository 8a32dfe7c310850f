import { decodeJwt, SignJWT } from "jose";
import { afterEach, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { type Aic, type AicOptions, startAic } from "../../../../local/peers/aic/aic.ts";
import { type Authenticator, createAuthenticator } from "../../../../local/peers/security-key/authenticator.ts";
import { createAuthenticatorKeys } from "../../../../local/peers/security-key/authenticator-keys.ts";

const USER = "jan@example.com";
const ORIGIN = "https://keys.example";

let authenticator: Authenticator;
let options: AicOptions;
let aic: Aic;
let token: string;

beforeAll(async () => {
  authenticator = createAuthenticator(await createAuthenticatorKeys());
  options = {
    realm: "alpha",
    journey: "RegisterKey",
    relyingPartyId: "keys.example",
    clientId: "connector",
    clientSecret: "aic-secret",
    attestationRoot: authenticator.rootCertificate,
  };
});

beforeEach(async () => {
  aic = await startAic(options);
  token = await newToken();
});

afterEach(() => aic.close());

const askToken = (client_secret: string, realm = "alpha") =>
  fetch(`${aic.url}/am/oauth2/realms/root/realms/${realm}/access_token`, {
    method: "POST",
    body: new URLSearchParams({
      grant_type: "client_credentials",
      client_id: "connector",
      client_secret,
      scope: "fido",
    }),
  });
const newToken = async () => ((await (await askToken("aic-secret")).json()) as { access_token: string }).access_token;

interface Callback {
  readonly type: string;
  readonly output: readonly { readonly name: string; readonly value: unknown }[];
  readonly input?: readonly { readonly name: string; value: string }[];
}
interface Step {
  readonly authId: string;
  readonly callbacks: readonly Callback[];
}
const query = "authIndexType=service&authIndexValue=RegisterKey";
const authenticate = (body?: unknown, { search = query, headers = {} as Record<string, string> } = {}) =>
  fetch(`${aic.url}/am/json/realms/root/realms/alpha/authenticate?${search}`, {
    method: "POST",
    headers: {
      authorization: `Bearer ${token}`,
      "accept-api-version": "resource=2.1, protocol=1.0",
      ...headers,
    },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  });
const control = (path: string, body: unknown = {}) =>
  fetch(`${aic.url}/_control/${path}`, { method: "POST", body: JSON.stringify(body) });
const refusal = async (answer: Response) => {
  const { code, reason, message, detail } = (await answer.json()) as Record<string, unknown>;
  expect([code, reason, message]).toEqual([answer.status, expect.any(String), expect.any(String)]);
  return [answer.status, (detail as { errorCode?: string } | undefined)?.errorCode];
};

const begin = async () => (await (await authenticate()).json()) as Step;
function filled(step: Step, value: string): Step {
  const callbacks = structuredClone(step.callbacks);
  const input = callbacks.at(-1)?.input?.[0];
  if (input === undefined) throw new Error("the last callback takes no input");
  input.value = value;
  return { ...step, callbacks };
}
const name = async (user = USER) => authenticate(filled(await begin(), user));
const ask = async (user = USER) => (await (await name(user)).json()) as Step;

const outputOf = (step: Step, output: string) =>
  step.callbacks.flatMap(each => each.output).find(each => each.name === output)?.value;
const dataOf = (step: Step) => outputOf(step, "data") as Record<string, unknown>;

function outcomeFor(challenge: string) {
  const pubKeyCredParams = [{ type: "public-key", alg: -7 }];
  const made = authenticator.create({ rp: { id: "keys.example" }, challenge, pubKeyCredParams }, ORIGIN);
  const { id, clientDataJSON, attestationObject } = made;
  const signed = [...new Int8Array(Buffer.from(attestationObject, "base64url"))].join(",");
  return { id, parts: [Buffer.from(clientDataJSON, "base64url").toString(), signed, id] };
}
const challengeOf = (step: Step) => Buffer.from(String(dataOf(step).challenge), "base64").toString("base64url");
const asJson = (...parts: string[]) =>
  JSON.stringify({ authenticatorAttachment: "cross-platform", legacyData: parts.join("::") });

describe("a journey", () => {
  test("creates no session if none is requested", async () => {
    const step = await ask();
    const { parts } = outcomeFor(challengeOf(step));
    const end = await authenticate(filled(step, asJson(...parts)), { search: `${query}&noSession=true` });
    expect(await end.json()).toEqual({ successUrl: expect.any(String), realm: "/alpha" });
    expect(aic.registrations()).toMatchObject([{ displayName: "New Security Key" }]);
  });

  test("accepts each step once, also if it fails", async () => {
    const first = await begin();
    expect((await authenticate(filled(first, USER))).status).toBe(200);
    expect(await refusal(await authenticate(filled(first, USER)))).toEqual([401, undefined]);
    const step = await ask();
    const { parts } = outcomeFor(challengeOf(step));
    expect(await refusal(await authenticate(filled(step, "unsupported")))).toEqual([401, undefined]);
    expect(await refusal(await authenticate(filled(step, asJson(...parts))))).toEqual([401, undefined]);
    expect(aic.registrations()).toEqual([]);
  });

  test("takes the outcome in the form of the node only", async () => {
    const wrong: ((parts: string[]) => string)[] = [
      parts => asJson(...parts.slice(0, 2)),
      parts => asJson(...parts, "a", "b"),
      parts => parts.join("::"),
      ([clientData = ""]) => asJson(clientData, "163,99", "AAAA"),
    ];
    for (const outcome of wrong) {
      const step = await ask();
      const answer = await authenticate(filled(step, outcome(outcomeFor(challengeOf(step)).parts)));
      expect(await refusal(answer), String(outcome)).toEqual([401, undefined]);
    }
    expect(aic.registrations()).toEqual([]);
  });

  test.each(["plain", "mock", "script"])("in the form of %s takes the outcome as plain text", async form => {
    expect((await control("settings", { form })).status).toBe(204);
    const step = await ask();
    const [, bytes = "[]"] = /new Int8Array\((\[[^\]]*\])\)/.exec(String(outputOf(step, "message"))) ?? [];
    const fromScript = Buffer.from(Int8Array.from(JSON.parse(bytes))).toString("base64url");
    const { parts } = outcomeFor(form === "script" ? fromScript : challengeOf(step));
    expect((await authenticate(filled(step, asJson(...parts)))).status).toBe(401);
    const again = await ask();
    if (form !== "script") {
      expect(Object.keys(dataOf(again)).filter(key => key.startsWith("_"))).toEqual(["_type"]);
      const outcome = outcomeFor(challengeOf(again)).parts.join("::");
      expect((await authenticate(filled(again, outcome))).status).toBe(200);
    } else expect(again.callbacks.at(-1)?.input?.[0]?.name).toBe("IDToken3");
  });

  test("expires, with a code of its own", async () => {
    const step = await ask();
    expect((await control("expire-challenges")).status).toBe(204);
    expect(await refusal(await authenticate(filled(step, "x")))).toEqual([401, "110"]);
    expect((await control("settings", { journeySeconds: 3600 })).status).toBe(204);
    const { exp = 0, iat = 0 } = decodeJwt((await begin()).authId);
    expect(Math.abs(exp - iat - 3600)).toBeLessThanOrEqual(1);
  });

  test("cannot be started without a token in the configured header", async () => {
    expect((await askToken("wrong")).status).toBe(401);
    expect((await askToken("aic-secret", "bravo")).status).toBe(404);
    await control("revoke-tokens");
    expect(await refusal(await authenticate())).toEqual([401, undefined]);
    await aic.close();
    aic = await startAic({ ...options, authenticationHeader: "X-Token" });
    token = await newToken();
    expect((await authenticate()).status).toBe(401);
    expect((await authenticate(undefined, { headers: { "x-token": `Bearer ${token}` } })).status).toBe(200);
  });

  test("is not found under another name, nor without a version of the API", async () => {
    for (const search of ["", "authIndexType=service&authIndexValue=Other", "authIndexValue=RegisterKey"])
      expect(await refusal(await authenticate(undefined, { search }))).toEqual([400, undefined]);
    expect(await refusal(await authenticate(undefined, { headers: { "accept-api-version": "" } }))).toEqual([
      403,
      undefined,
    ]);
    const other = await fetch(`${aic.url}/am/json/realms/root/realms/bravo/authenticate?${query}`, { method: "POST" });
    expect(other.status).toBe(404);
  });

  test("accepts only its own steps", async () => {
    const step = await begin();
    const forged = await new SignJWT({ otk: decodeJwt(step.authId).otk })
      .setProtectedHeader({ alg: "HS256" })
      .sign(Buffer.alloc(32));
    for (const body of [{}, { ...step, authId: "x" }, { ...step, authId: forged }, { ...step, callbacks: "x" }])
      expect((await authenticate(body)).status).toBe(400);
    expect((await authenticate(filled(step, USER))).status).toBe(200);
  });

  test("fails for users who have as many keys as they may", async () => {
    aic.settings({ maxDevices: 1 });
    const step = await ask();
    expect((await authenticate(filled(step, asJson(...outcomeFor(challengeOf(step)).parts)))).status).toBe(200);
    expect(await refusal(await name())).toEqual([401, undefined]);
    expect((await name("other@example.com")).status).toBe(200);
    expect((await control("settings", { maxDevice: 1 })).status).toBe(400);
  });
});
