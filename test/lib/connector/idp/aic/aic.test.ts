import { generateKeyPairSync } from "node:crypto";
import { decodeJwt, UnsecuredJWT } from "jose";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { type Idp, removalCall } from "../../../../../lib/connector/idp/contract.ts";
import type { Attestation, Challenge } from "../../../../../lib/connector/model/webauthn.ts";
import { plus } from "../../../../../lib/platform/time.ts";
import type { Aic } from "../../../../../local/peers/aic/aic.ts";
import { failureOf, kindOf, oddServer } from "../../../../support/connector/peer-tools.ts";
import { answerTo, askFor, type IdpTools, signal, start, toolsFor, user } from "../idp-tools.ts";

let aic: Aic;
let connect: IdpTools["connect"];
let tools: IdpTools["tools"];
let idp: Idp;

beforeEach(async () => {
  aic = await start.aic();
  ({ connect, tools } = toolsFor.aic(aic.url));
  idp = connect();
});

afterEach(() => aic.close());

const ask = (of: Idp = idp, userId = user) => askFor(of, userId);

const steps = () => aic.count("POST", /authenticate$/);
const grants = () => aic.count("POST", /access_token$/);
const text = (value: string) => Buffer.from(value).toString("base64url");

interface Call {
  readonly path: string;
  readonly query: URLSearchParams;
  readonly headers: NodeJS.Dict<string | string[]>;
  readonly body: unknown;
}

const nameStep = { authId: "first", callbacks: [{ type: "NameCallback", input: [{ name: "IDToken1", value: "" }] }] };
const hidden = (name = "IDToken2", id = "webAuthnOutcome") => ({
  type: "HiddenValueCallback",
  output: [{ name: "id", value: id }],
  input: [{ name, value: id }],
});
const metadata = (data: object) => ({ type: "MetadataCallback", output: [{ name: "data", value: data }] });
const data = {
  _type: "WebAuthn",
  challenge: "+/8=",
  userName: "jan",
  userId: "bm90IGRlY29kZWQ=",
  _relyingPartyId: "keys.example",
  _pubKeyCredParams: [{ type: "public-key", alg: -7 }],
};
const credentialStep = (changes: object = {}) => ({
  authId: "second",
  callbacks: [metadata({ ...data, ...changes }), hidden()],
});

/** An AM of the test's own: it grants tokens, and answers the steps in turn. */
async function answering(...answers: unknown[]) {
  const calls: Call[] = [];
  const url = await oddServer(async (request, response) => {
    let body = "";
    for await (const chunk of request) body += chunk;
    const { pathname, searchParams } = new URL(request.url ?? "", "http://localhost");
    if (pathname.endsWith("access_token")) {
      response.end('{"access_token":"t","expires_in":3600}');
      return;
    }
    const { headers } = request;
    calls.push({ path: pathname, query: searchParams, headers, body: body === "" ? undefined : JSON.parse(body) });
    response.end(JSON.stringify(answers.shift()));
  });
  const settings = { "api-base-url": url, "auth-base-url": url };
  return {
    calls,
    odd: connect(settings),
    with: (values: Record<string, unknown>) => connect({ ...settings, ...values }),
  };
}

const attestation: Attestation = {
  credentialId: "aWQ",
  clientDataJson: text('{"ä":1}'),
  attestationObject: Buffer.from([163, 99, 0, 127, 128, 255]).toString("base64url"),
  clientExtensionResults: {},
};
const legacy = '{"ä":1}::-93,99,0,127,-128,-1::aWQ::Desk key: 1';

describe("an IdP of kind C", () => {
  test("returns the options of WebAuthn", async () => {
    const challenge = await ask();
    const response = answerTo(challenge);
    await idp.activate(challenge.idpState, response, "Desk key: 30000001", { signal });
    const { options, origin } = await ask();
    expect(origin).toBe("https://keys.example");
    expect(options).toMatchObject({
      rp: { id: "keys.example", name: "Simulated Journey" },
      user: { name: user, displayName: user },
      challenge: expect.stringMatching(/^[\w-]{43}$/),
      pubKeyCredParams: [
        { type: "public-key", alg: -257 },
        { type: "public-key", alg: -7 },
      ],
      timeout: 60_000,
      excludeCredentials: [{ type: "public-key", id: response.credentialId }],
      authenticatorSelection: { userVerification: "required", authenticatorAttachment: "cross-platform" },
      attestation: "direct",
    });
    // The user handle is AM's base64 text, which is not decoded.
    expect(Buffer.from(options.user.id, "base64url").toString()).toMatch(/^[A-Za-z0-9+/]{48}$/);
    expect(grants()).toBe(1);
  });

  test("has realm and journey in its address, which may have another path than /am", async () => {
    const { calls, with: changed } = await answering(...Array(4).fill([nameStep, credentialStep()]).flat());
    const base = (await answering()).odd;
    expect(base.defaultRelyingPartyId).toBe("127.0.0.1");
    expect(changed({ "default-relying-party": "keys.example" }).defaultRelyingPartyId).toBe("keys.example");
    const one = changed({ realm: "/bravo", journey: "a&b c" });
    await ask(one);
    expect(calls.map(({ path, query }) => [path, ...query])).toEqual(
      [1, 2].map(() => [
        "/am/json/realms/root/realms/bravo/authenticate",
        ["authIndexType", "service"],
        ["authIndexValue", "a&b c"],
        ["noSession", "true"],
      ]),
    );
    expect(await ask(connect({ "api-base-url": `${aic.url}/am`, "auth-base-url": `${aic.url}/am/` }))).toBeDefined();
    expect(await kindOf(ask(connect({ "api-base-url": `${aic.url}/openam` })))).toBe("unreachable");
  });

  test("gets the version of its API, and the token in the header that the settings name", async () => {
    for (const header of ["Authorization", "X-Journey-Token"]) {
      const { calls, with: changed } = await answering(nameStep, credentialStep());
      await ask(changed({ "authentication-header": header }));
      for (const { headers } of calls) {
        expect(headers["accept-api-version"]).toBe("resource=2.1, protocol=1.0");
        expect(headers["content-type"]).toBe("application/json");
        expect(headers[header.toLowerCase()]).toBe("Bearer t");
        expect(headers.authorization).toBe(header === "Authorization" ? "Bearer t" : undefined);
      }
    }
    await aic.close();
    aic = await start.aic({ authenticationHeader: "X-Journey-Token" });
    ({ connect } = toolsFor.aic(aic.url));
    expect(await ask(connect({ "authentication-header": "X-Journey-Token" }))).toBeDefined();
    expect(await kindOf(ask(connect()))).toBe("unauthorized");
  });

  test("gets each step back unchanged except for one input", async () => {
    const page = {
      ...nameStep,
      stage: "UsernamePassword",
      callbacks: [
        { type: "PasswordCallback", input: [{ name: "IDToken1", value: "" }], _id: 3 },
        ...nameStep.callbacks,
      ],
    };
    const asked = { ...credentialStep(), header: "Register" };
    const { calls, odd } = await answering(page, asked, { successUrl: "/" });
    const challenge = await ask(odd);
    // As it comes out of the row that keeps it.
    const handle = JSON.parse(JSON.stringify(challenge.idpState)) as Challenge["idpState"];
    await odd.activate(handle, attestation, "Desk key: 1", { signal });
    const [, named, answered] = calls.map(({ body }) => body) as [unknown, typeof page, typeof asked];
    expect(calls[0]?.body).toBeUndefined();
    const name = { ...nameStep.callbacks[0], input: [{ name: "IDToken1", value: user }] };
    expect(named).toEqual({ ...page, callbacks: [page.callbacks[0], name] });
    const outcome = { ...hidden(), input: [{ name: "IDToken2", value: legacy }] };
    expect(answered).toEqual({ ...asked, callbacks: [asked.callbacks[0], outcome] });
  });

  test("finds a callback by the outcome's id, then by the input's name, then as the only one of its type", async () => {
    const names = {
      authId: "first",
      callbacks: ["IDToken1", "IDToken7"].map(name => ({ type: "NameCallback", input: [{ name, value: "" }] })),
    };
    const sent = async (first: object, second: object, values: Record<string, unknown>) => {
      const { calls, with: changed } = await answering(first, second, { successUrl: "/" });
      const journey = changed(values);
      await journey.activate((await ask(journey)).idpState, attestation, "Desk key: 1", { signal });
      const inputs = (body: unknown) =>
        (body as { callbacks: { input?: { name: string; value: string }[] }[] }).callbacks.flatMap(
          ({ input = [] }) => input,
        );
      const of = (value: string, body: unknown) =>
        inputs(body)
          .filter(input => input.value === value)
          .map(({ name }) => name);
      return [of(user, calls[1]?.body), of(legacy, calls[2]?.body)];
    };
    const two = (...callbacks: object[]) => ({ authId: "second", callbacks: [metadata(data), ...callbacks] });
    const seven = { "token-id-1": "IDToken7", "token-id-2": "IDToken7" };
    expect(await sent(names, two(hidden("IDToken7", "other"), hidden("IDToken5")), seven)).toEqual([
      ["IDToken7"],
      ["IDToken5"],
    ]);
    expect(await sent(names, two(hidden("IDToken2", "a"), hidden("IDToken7", "b")), seven)).toEqual([
      ["IDToken7"],
      ["IDToken7"],
    ]);
    expect(await sent(nameStep, two(hidden("IDToken2", "a")), seven)).toEqual([["IDToken1"], ["IDToken2"]]);

    const { with: changed } = await answering(names);
    expect(await kindOf(ask(changed({ "token-id-1": "IDToken9" })))).toBe("refused");
  });

  test("gets the outcome as JSON if it supports that, otherwise as text that a name cannot break", async () => {
    for (const [supportsJsonResponse, name, expected] of [
      [true, "Desk key: 1", JSON.stringify({ authenticatorAttachment: "cross-platform", legacyData: legacy })],
      [false, "Desk key: 1", legacy],
      [undefined, "Desk:::: key::1", legacy.replace("Desk key: 1", "Desk: key:1")],
    ] as const) {
      const { calls, odd } = await answering(nameStep, credentialStep({ supportsJsonResponse }), { realm: "/alpha" });
      await odd.activate((await ask(odd)).idpState, attestation, name, { signal });
      expect(calls[2]?.body).toMatchObject({ callbacks: [{}, { input: [{ value: expected }] }] });
    }
  });

  test("treats the end with a session as success, and returns no session", async () => {
    for (const end of [
      { tokenId: "AQIC", successUrl: "/", realm: "/" },
      { message: "Done", successUrl: "/" },
    ]) {
      const { odd } = await answering(nameStep, credentialStep(), end);
      await odd.activate((await ask(odd)).idpState, attestation, "k", { signal });
    }
    for (const end of [{}, { message: "Hello" }, []]) {
      const { odd } = await answering(nameStep, credentialStep(), end);
      expect(await kindOf(odd.activate((await ask(odd)).idpState, attestation, "k", { signal }))).toBe("unanswered");
    }
  });
});

describe("the devices of a user of kind C", () => {
  const device = { uuid: "d1", credentialId: "-_8=", deviceName: "k" };
  const listing = (devices: readonly object[], more: object = {}) => ({ result: devices, ...more });
  const revokedAfter = async (...answers: readonly unknown[]) => {
    const { odd, calls } = await answering(nameStep, credentialStep(), ...answers);
    const { idpState } = await ask(odd);
    const failure = await odd.revoke(idpState, { credentialId: "-_8" }, signal).catch(error => error);
    return { failure, paths: calls.slice(2).map(({ path, query }) => `${path}?${query}`) };
  };

  test("are found by the user's name in the stored step and by the credential id, in any alphabet", async () => {
    const { failure, paths } = await revokedAfter(listing([{ ...device, credentialId: "AAAA" }, device]), device);
    expect(failure).toBeUndefined();
    const of = "/am/json/realms/root/realms/alpha/users/not%20decoded/devices/2fa/webauthn";
    expect(paths).toEqual([`${of}?_queryFilter=true`, `${of}/d1?`]);
  });

  test.each([
    ["that is not complete", listing([], { pagedResultsCookie: "more" })],
    ["with an unreadable device", listing([{ uuid: "../..", credentialId: "-_8" }])],
    ["that is no list", {}],
  ])("are not taken from a list %s", async (_, list) => {
    expect((await revokedAfter(list)).failure).toMatchObject({ kind: "unanswered" });
  });

  test("are removed only if AM names the removed one", async () => {
    for (const answer of [{}, { uuid: "d2" }])
      expect((await revokedAfter(listing([device]), answer)).failure).toMatchObject({ kind: "unanswered" });
  });

  test.each([
    ["unknown", []],
    ["another user's", ["other@example.com"]],
  ])("are not taken for removed if the name of their user is %s now", async (_, others) => {
    aic.settings({ names: "name" });
    const challenge = await ask();
    const response = answerTo(challenge);
    await idp.activate(challenge.idpState, response, "k", { signal });
    aic.renameUser(user, "renamed@example.com");
    for (const other of others) aic.renameUser(other, user);
    expect(await failureOf(idp.revoke(challenge.idpState, response, signal))).toMatchObject({
      kind: "refused",
      detail: expect.stringMatching(/^AM lists no such key for the user, who may have been deleted or renamed/),
    });
    expect(aic.registrations()).toMatchObject([{ userId: "renamed@example.com" }]);
  });

  test("are removed if the list has none after a removal that was not answered", async () => {
    aic.settings({ names: "name" });
    const challenge = await ask();
    const response = answerTo(challenge);
    await idp.activate(challenge.idpState, response, "k", { signal });
    aic.fail({ kind: "refuse", status: 503, method: "DELETE", times: 3 });
    const failure = await failureOf(idp.revoke(challenge.idpState, response, signal));
    expect(failure).toMatchObject({ operation: removalCall, mayBeDone: true });
    await idp.revoke(challenge.idpState, response, signal);
    await idp.revoke(challenge.idpState, { ...response, mayBeRemoved: true }, signal);
    expect(await kindOf(idp.revoke(challenge.idpState, response, signal))).toBe("refused");
  });

  test.each(["", "Li4=", "/w==", "not base64!"])("are of no user with the id %j in the stored step", async userId => {
    const { idpState } = await ask();
    const stored = JSON.parse(JSON.stringify(idpState).replace(/"userId":"[^"]*"/, `"userId":"${userId}"`));
    const calls = aic.requests().length;
    expect(await failureOf(idp.revoke(stored, { credentialId: "-_8" }, signal))).toMatchObject({ kind: "refused" });
    expect(aic.requests()).toHaveLength(calls);
  });
});

describe("creation options of kind C", () => {
  const optionsOf = async (changes: object) =>
    (await ask((await answering(nameStep, credentialStep(changes))).odd)).options;

  test("are read with the required members only, and the user handle is text", async () => {
    expect(await optionsOf({})).toEqual({
      rp: { id: "keys.example", name: "keys.example" },
      user: { id: text("bm90IGRlY29kZWQ="), name: "jan", displayName: "jan" },
      challenge: "-_8",
      pubKeyCredParams: [{ type: "public-key", alg: -7 }],
    });
    expect((await optionsOf({ challenge: [-5, -1] })).challenge).toBe("-_8");
  });

  test("are not read from the members without an underscore, which are pieces of script", async () => {
    const literals = {
      relyingPartyId: 'id: "old.example",',
      excludeCredentials: '{ "type": "public-key", "id": new Int8Array([-5, -1]).buffer }',
      authenticatorSelection: '{"userVerification":"preferred"}',
    };
    expect(await optionsOf({ ...literals, timeout: "60000" })).toEqual({ ...(await optionsOf({})), timeout: 60_000 });
    const parameters = { pubKeyCredParams: '[ { "type": "public-key", "alg": -7 } ]', _pubKeyCredParams: undefined };
    expect(await failureOf(optionsOf(parameters))).toMatchObject(unusable);
  });

  const unusable = { kind: "refused", code: "unusable_options" };

  test.each<[string, object]>([
    ["the options are not readable", credentialStep({ challenge: "" })],
    ["a sign-in is asked for", credentialStep({ _action: "webauthn_authentication" })],
    ["the data is of another kind", credentialStep({ _type: "Other" })],
    ["the journey ended", { successUrl: "/" }],
    ["the step is too long to be stored", credentialStep({ junk: "ä".repeat(8_000) })],
  ])("are unusable if %s, which the administrator of the journey corrects", async (_, second) => {
    expect(await failureOf(ask((await answering(nameStep, second)).odd))).toMatchObject(unusable);
  });

  test("are requested in well-formed Unicode", async () => {
    const { calls, odd } = await answering(nameStep, credentialStep());
    await ask(odd, "a\ud800");
    expect(calls[1]?.body).toMatchObject({ callbacks: [{ input: [{ value: "a\ufffd" }] }] });
  });

  test.each<[instead: string, steps: readonly object[]]>([
    [
      "MetadataCallback with options, but PasswordCallback, HiddenValueCallback.",
      [nameStep, { authId: "a", callbacks: [{ type: "PasswordCallback" }, hidden()] }],
    ],
    ["NameCallback for the user.", [credentialStep()]],
  ])("are unusable if the journey has no %s", async (instead, steps) => {
    const { odd } = await answering(...steps);
    expect(await failureOf(ask(odd))).toMatchObject({ ...unusable, detail: `The journey has no ${instead}` });
  });

  test("are unanswered if the response is longer than a step", async () => {
    const { odd } = await answering(nameStep, credentialStep({ junk: "a".repeat(70_000) }));
    expect(await kindOf(ask(odd))).toBe("unanswered");
  });

  test("are not read from a script, and the refusal names the switch of the node", async () => {
    aic.settings({ form: "script" });
    expect(await failureOf(ask())).toMatchObject({
      kind: "refused",
      detail:
        'The journey has no MetadataCallback with options, but TextOutputCallback, TextOutputCallback, HiddenValueCallback. Switch off "Return challenge as JavaScript" in its WebAuthn node.',
    });
  });

  test("have the default relying party of the settings if the node names none", async () => {
    for (const _relyingPartyId of ["", " ", null, undefined]) {
      const { with: changed } = await answering(nameStep, credentialStep({ _relyingPartyId }));
      const challenge = await ask(changed({ "default-relying-party": "login.example" }));
      expect(challenge.options.rp).toEqual({ id: "login.example", name: "login.example" });
      expect(challenge.origin).toBe("https://login.example");
    }
    // AM's own domain, unless it is no domain.
    const { odd } = await answering(nameStep, credentialStep({ _relyingPartyId: "" }));
    expect(odd.defaultRelyingPartyId).toBe("127.0.0.1");
    expect(await failureOf(ask(odd))).toMatchObject({ kind: "refused", code: "unusable_options" });
  });

  test.each(["https://keys.example:3002", "keys .example"])("are rejected with %j, which is no domain", async id => {
    expect(await failureOf(optionsOf({ _relyingPartyId: id }))).toMatchObject({
      ...unusable,
      detail: expect.stringMatching(/^rp\.id must be a domain/),
    });
  });

  test("expire with the step or at the configured time-out, whichever is earlier", async () => {
    // An authId of AM lives 300 s until the journey's administrator sets more.
    expect(Math.abs(((await ask()).expiresAt?.getTime() ?? 0) - Date.now() - 300_000)).toBeLessThan(60_000);
    aic.settings({ journeySeconds: 3600 });
    const asked = tools.now();
    const wait = async (values: Record<string, unknown>) =>
      ((await ask(connect(values))).expiresAt?.getTime() ?? 0) - Date.parse(asked);
    expect(Math.abs((await wait({})) - 3_600_000)).toBeLessThan(60_000);
    expect(Math.abs((await wait({ "challenge-timeout-milliseconds": 86_400_000 })) - 3_600_000)).toBeLessThan(60_000);
    expect(await wait({ "challenge-timeout-milliseconds": 60_000 })).toBe(60_000);
    const until = (exp: unknown) => new UnsecuredJWT({ exp } as { exp: number }).encode();
    for (const authId of ["no JWT", new UnsecuredJWT({}).encode(), until("soon"), until(Date.now()), until(-1e15)]) {
      const { with: changed } = await answering(...[1, 2].flatMap(() => [nameStep, { ...credentialStep(), authId }]));
      expect((await ask(changed({}))).expiresAt).toBeUndefined();
      const set = await ask(changed({ "challenge-timeout-milliseconds": 60_000 }));
      expect(set.expiresAt?.toISOString()).toBe(plus(asked, 60_000));
    }
  });
});

describe("a failure of an IdP of kind C", () => {
  test.each(["unknown-user", "blocked-user", "capped"])("by the journey itself is for good: %s", async userId => {
    const taken = await ask(idp, "capped");
    await idp.activate(taken.idpState, answerTo(taken), "k", { signal });
    aic.settings({ maxDevices: 1 });
    expect(await failureOf(ask(idp, userId))).toMatchObject({
      peer: "IdP main",
      kind: "refused",
      code: "Unauthorized",
      detail: "Login failure. Check that the user exists in the realm, is active and may have another device.",
    });
  });

  test("is permanent and has AM's code if the journey has timed out", async () => {
    const challenge = await ask();
    aic.expireChallenges();
    expect(await failureOf(idp.activate(challenge.idpState, answerTo(challenge), "k", { signal }))).toMatchObject({
      kind: "refused",
      code: "110",
      detail: "Session has timed out",
    });
  });

  test("is a failure of the configuration or the client before the journey knows the user", async () => {
    for (const values of [{ journey: "other" }, { realm: "bravo", "auth-base-url": `${aic.url}/am` }])
      expect(await kindOf(ask(connect(values)))).toBe("unauthorized");
  });

  const refused = (status: number) => {
    const body = { code: status, reason: "Forbidden", message: "No." };
    return { kind: "refuse", status, path: "authenticate$", body } as const;
  };
  const proxied = { kind: "nonsense", status: 404, path: "authenticate$", times: 3 } as const;

  test.each([
    ["the connector's settings for a refusal", refused(400), { kind: "unauthorized", status: 400, detail: "No." }],
    ["a proxy's for a 404 that is not AM's", proxied, { kind: "unreachable" }],
    // With its status it would count as a refusal of the user.
    ["without a status for a 403", refused(403), { kind: "unauthorized", status: undefined, code: "Forbidden" }],
  ])("before the journey knows the user is %s", async (_, fault, failure) => {
    aic.fail(fault);
    expect(await failureOf(ask())).toMatchObject(failure);
  });

  test("is not the end of the journey for a 401 that is not AM's, or for another status", async () => {
    const challenge = await ask();
    const activate = () => idp.activate(challenge.idpState, answerTo(challenge), "k", { signal });
    aic.fail({ kind: "refuse", status: 401, path: "authenticate$", body: { error: "invalid_token" } });
    expect(await kindOf(activate())).toBe("unauthorized");
    aic.fail(refused(403));
    expect(await failureOf(activate())).toMatchObject({ kind: "unauthorized", status: 403, code: "Forbidden" });
    await activate();
  });

  test("is a refusal for an activation only if the journey asks for a security key again", async () => {
    const again = await answering(nameStep, credentialStep(), credentialStep());
    expect(await kindOf(again.odd.activate((await ask(again.odd)).idpState, attestation, "k", { signal }))).toBe(
      "refused",
    );
    const more = { authId: "third", callbacks: [{ type: "ConfirmationCallback" }] };
    const on = await answering(nameStep, credentialStep(), more);
    expect(await failureOf(on.odd.activate((await ask(on.odd)).idpState, attestation, "k", { signal }))).toMatchObject({
      kind: "unanswered",
      detail: "The journey continues with ConfirmationCallback.",
    });
  });

  test("is repeated for the first step, while the second step is sent once", async () => {
    aic.fail({ kind: "refuse", status: 503, path: "authenticate$", times: 2 });
    expect(await ask()).toBeDefined();
    expect(steps()).toBe(4);
    aic.resetRequests();
    aic.fail({ kind: "delay", ms: 0, path: "authenticate$" });
    aic.fail({ kind: "drop", path: "authenticate$", phase: "after" });
    expect(await kindOf(ask())).toBe("unanswered");
    expect(steps()).toBe(2);
  });

  test("is a refusal if the stored state has no step", async () => {
    aic.resetRequests();
    for (const handle of [
      { step: { authId: "a", callbacks: [] } },
      { step: { authId: "a", callbacks: [metadata(data)] } },
      { step: { authId: "a", callbacks: [{ ...hidden(), input: [] }] } },
    ])
      expect(await kindOf(idp.activate(handle, attestation, "k", { signal }))).toBe("refused");
    expect(steps()).toBe(0);
  });
});

describe("the client's own credentials at Advanced Identity Cloud", () => {
  /** Requests tokens of a server of the test's own. Returns the forms of the requests. */
  async function formsOf(ask: (url: string) => Promise<unknown>) {
    const forms: URLSearchParams[] = [];
    const url = await oddServer(async (request, response) => {
      let body = "";
      for await (const chunk of request) body += chunk;
      forms.push(new URLSearchParams(body));
      response.end("{}");
    });
    await ask(url);
    return forms;
  }

  test("are for the configured scope", async () => {
    const forms = await formsOf(async url => {
      for (const scope of ["fido register", undefined]) await kindOf(ask(connect({ "auth-base-url": url, scope })));
    });
    expect(forms.map(form => form.get("scope")).filter((scope, n, all) => scope !== all[n - 1])).toEqual([
      "fido register",
      null,
    ]);
  });

  test("are an assertion for the address with its port, as the tenant compares it, also if that is the port of https", async () => {
    const { privateKey } = generateKeyPairSync("ec", { namedCurve: "P-256" });
    const secret = async () => String(privateKey.export({ type: "pkcs8", format: "pem" }));
    const forms = await formsOf(async url => {
      const toServer: typeof fetch = (input, init) => fetch(new URL(new URL(String(input)).pathname, url), init);
      for (const address of ["https://tenant.forgeblocks.com", "https://am.example:8443/openam"])
        await kindOf(ask(connect({ "auth-base-url": address }, { secret, fetch: toServer })));
    });
    const audiences = forms.map(form => decodeJwt(form.get("client_assertion") ?? "").aud);
    expect([...new Set(audiences)]).toEqual([
      "https://tenant.forgeblocks.com:443/am/oauth2/realms/root/realms/alpha/access_token",
      "https://am.example:8443/openam/oauth2/realms/root/realms/alpha/access_token",
    ]);
  });
});
