import { generateKeyPairSync } from "node:crypto";
import { exportJWK } from "jose";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import type { Idp } from "../../../../../lib/connector/idp/contract.ts";
import { plus } from "../../../../../lib/platform/time.ts";
import type { HttpCall } from "../../../../../local/peers/peer.ts";
import type { PingOne } from "../../../../../local/peers/pingone/pingone.ts";
import { failureOf, kindOf, oddPeer } from "../../../../support/connector/peer-tools.ts";
import { answerTo, askFor, environmentId, type IdpTools, signal, start, tag, toolsFor, user } from "../idp-tools.ts";

const userUuid = "6f1c1a52-2f7e-4f0d-8a57-0c3f3f0f9d11";

let pingone: PingOne;
let connect: IdpTools["connect"];
let queryFor: IdpTools["queryFor"];
let tools: IdpTools["tools"];
let idp: Idp;

beforeEach(async () => {
  pingone = await start.pingone();
  ({ connect, queryFor, tools } = toolsFor.pingone(pingone.url));
  idp = connect();
});

afterEach(() => pingone.close());

const ask = (of: Idp = idp, userId = user, relyingPartyId?: string) => askFor(of, userId, relyingPartyId);

const activated = async (of: Idp = idp, userId = user) => {
  const challenge = await ask(of, userId);
  const attestation = answerTo(challenge);
  await of.activate(challenge.idpState, attestation, "Desk key: 30000001", { signal });
  return { challenge, attestation };
};

const device = /\/devices\/[^/]+$/;
const activations = () => pingone.count("POST", device);

/** A PingOne of the test's own: it grants tokens, and answers everything else as the test configures it. */
async function answering(answer: (call: HttpCall) => unknown) {
  const { url } = await oddPeer(call => {
    const { path, method } = call;
    const answered = path.endsWith("/as/token") ? { access_token: "t", expires_in: 3600 } : answer(call);
    return method === "DELETE" ? { status: 204 } : { status: 200, body: answered };
  });
  return connect({ "api-base-url": url, "auth-base-url": url });
}

describe("an IdP of kind A", () => {
  test.each(["signed", "base64"] as const)("returns the options of WebAuthn, with %s bytes", async bytes => {
    pingone.settings({ bytes });
    const { options, origin, expiresAt, idpState: handle } = await ask();
    expect(options).toEqual({
      rp: { id: "keys.example", name: "keys.example" },
      user: { id: expect.stringMatching(/^[\w-]{22}$/), name: user, displayName: user },
      challenge: expect.stringMatching(/^[\w-]{43}$/),
      pubKeyCredParams: [-7, -37, -257].map(alg => ({ type: "public-key", alg })),
      timeout: 120_000,
      excludeCredentials: [],
      authenticatorSelection: {
        authenticatorAttachment: "cross-platform",
        residentKey: "preferred",
        requireResidentKey: false,
        userVerification: "required",
      },
      attestation: "direct",
      extensions: { credProps: true },
    });
    expect(origin).toBe("https://keys.example");
    // Nothing public says when a pending device ends.
    expect(expiresAt).toBeUndefined();
    expect(handle).toEqual({ userId: expect.any(String), deviceId: expect.any(String), origin });
    await activated();
  });

  test("ends a challenge by the connector's clock, after the configured days", async () => {
    const asked = tools.now();
    const { expiresAt } = await ask(connect({ "pre-registration-timeout-days": 30 }));
    expect(expiresAt?.toISOString()).toBe(plus(asked, 30 * 86_400_000));
  });

  test("is called with and without the version in its base address", async () => {
    for (const base of [pingone.url, `${pingone.url}/v1`, `${pingone.url}/v1/`])
      expect(await ask(connect({ "api-base-url": base }), userUuid)).toBeDefined();
    expect(pingone.count("POST", new RegExp(`^/v1/environments/${environmentId}/users/${userUuid}/devices$`))).toBe(3);
  });

  test("has a relying party in its settings, and a request may name another one", async () => {
    expect(idp.defaultRelyingPartyId).toBe("keys.example");
    const other = await ask(idp, user, "login.keys.example");
    expect(other.options.rp.id).toBe("login.keys.example");
    expect(other.origin).toBe("https://login.keys.example");
    await idp.activate(other.idpState, answerTo(other), "k", { signal });
    expect(pingone.registrations()).toHaveLength(1);
  });

  test("receives the origin and the attestation as text, in the media type of an activation", async () => {
    const calls: HttpCall[] = [];
    const odd = await answering(call => {
      calls.push(call);
      return { status: "ACTIVE" };
    });
    const handle = { userId: "u/1", deviceId: "d?1", origin: "https://keys.example" };
    const attestation = { clientDataJson: "-_8", attestationObject: "_-8A", clientExtensionResults: { a: 1 } };
    await odd.activate(handle, { ...attestation, credentialId: "-_-_AA" }, "Key: 1", { signal });
    expect(calls.map(({ method, url, headers }) => [method, url.pathname, headers["content-type"]])).toEqual([
      [
        "POST",
        `/v1/environments/${environmentId}/users/u%2F1/devices/d%3F1`,
        "application/vnd.pingidentity.device.activate+json",
      ],
      ["PUT", `/v1/environments/${environmentId}/users/u%2F1/devices/d%3F1/nickname`, "application/json"],
    ]);
    const sent = JSON.parse(String(calls[0]?.body));
    expect(sent).toEqual({ origin: "https://keys.example", attestation: expect.any(String) });
    expect(JSON.parse(sent.attestation)).toEqual({
      id: "-_-_AA",
      type: "public-key",
      rawId: "+/+/AA==",
      response: { clientDataJSON: "+/8=", attestationObject: "/+8A" },
      clientExtensionResults: { a: 1 },
    });
    expect(JSON.parse(String(calls[1]?.body))).toEqual({ nickname: "Key: 1" });
  });
});

describe("a user at an IdP of kind A", () => {
  const lookUps = () => pingone.requests().filter(({ path }) => /\/users$/.test(path));

  test("is looked up by name, unless the name is an id", async () => {
    await ask();
    expect(lookUps()).toHaveLength(1);
    await ask(idp, userUuid.toUpperCase());
    expect(lookUps()).toHaveLength(1);
    expect(pingone.count("POST", new RegExp(`${userUuid.toUpperCase()}/devices$`))).toBe(1);
  });

  test.each([`a"b`, String.raw`a\b`, `x" or username sw "`, String.raw`x\" or username sw \"a`, "ä&b=c+d e%20#"])(
    "is searched by the name %j and nothing else",
    async name => {
      const { options } = await ask(idp, name);
      expect(options.user.name).toBe(name);
    },
  );

  test("is searched with a limit of two, and in well-formed Unicode", async () => {
    const queries: URLSearchParams[] = [];
    const odd = await answering(({ url }) => {
      queries.push(url.searchParams);
      return { _embedded: { users: [] } };
    });
    await kindOf(ask(odd, "a\ud800"));
    expect(Object.fromEntries(queries[0] ?? [])).toEqual({ filter: 'username eq "a\ufffd"', limit: "2" });
  });

  test("is missing if the search returns an empty list", async () => {
    expect(await failureOf(ask(idp, "unknown-user"))).toMatchObject({
      kind: "missing",
      code: "user",
      detail: "The user was not found.",
    });
    pingone.setUser(userUuid, "unknown");
    expect(await failureOf(ask(idp, userUuid))).toMatchObject({ kind: "missing", status: 404, code: "NOT_FOUND" });
    expect(pingone.count("POST", /devices$/)).toBe(1);
  });

  test.each([
    ["no _embedded", { _links: { self: { href: "https://api.pingone.example" } }, count: 0, size: 0 }],
    ["no member of a list", {}],
  ])("is missing if the search returns a list with %s", async (_, list) => {
    expect(await failureOf(ask(await answering(() => list)))).toMatchObject({ kind: "missing", code: "user" });
  });

  test("is not missing if the search counts users and does not list them", async () => {
    expect(await kindOf(ask(await answering(() => ({ count: 1, size: 1 }))))).toBe("unreachable");
  });

  test("is refused if the search returns several users or another one", async () => {
    const found = (...users: object[]) => answering(() => ({ _embedded: { users } }));
    const one = { id: userUuid, username: "Jan@Example.com" };
    const composed = { id: userUuid, username: "Jo\u00e3o" };
    for (const users of [[one, one], [{ ...one, username: "other" }]])
      expect(await failureOf(ask(await found(...users)))).toMatchObject({ kind: "refused", code: "user" });
    // The case of a name is PingOne's to judge: the search went on to the device here.
    expect(await kindOf(ask(await found(one)))).toBe("unanswered");
    expect(await kindOf(ask(await found(composed), "joa\u0303o"))).toBe("unanswered");
  });
});

describe("a failure of an IdP of kind A", () => {
  test("is permanent for the maximum number of devices, although it has status and code of throttling", async () => {
    pingone.settings({ maxDevices: 1 });
    const challenge = await ask();
    expect(await failureOf(ask())).toMatchObject({
      message: "IdP main: creation options refused (429)",
      kind: "refused",
      code: "LIMIT_EXCEEDED",
      detail: "The request was limited. The user has as many devices as are allowed.",
    });
    const body = { code: "REQUEST_LIMITED", details: [{ code: "OTHER" }, { code: "LIMIT_EXCEEDED" }] };
    pingone.fail({ kind: "throttle", body, path: device.source });
    const attestation = answerTo(challenge);
    expect(await kindOf(idp.activate(challenge.idpState, attestation, "k", { signal }))).toBe("refused");
  });

  test("is permanent for the maximum number of devices only with the status of throttling, because a 500 may have been done", async () => {
    const body = { code: "REQUEST_LIMITED", details: [{ code: "LIMIT_EXCEEDED" }] };
    pingone.fail({ kind: "refuse", status: 500, body, path: "devices$" });
    expect(await kindOf(ask())).toBe("unanswered");
  });

  test("is thrown for a forbidden read-back, which does not mean that the key is not registered", async () => {
    const { challenge } = await activated();
    pingone.fail({ kind: "refuse", status: 403, method: "GET", body: { code: "ACCESS_FAILED" }, times: 2 });
    expect(await kindOf(idp.isRegistered?.(challenge.idpState, queryFor("aWQ"), signal))).toBe("unauthorized");
    expect(await kindOf(idp.compensate(challenge.idpState, signal))).toBe("unauthorized");
  });

  test("is not repeated for a new device, because each attempt would leave one", async () => {
    pingone.fail({ kind: "refuse", status: 503, path: "devices$", phase: "after" });
    expect(await kindOf(ask())).toBe("unanswered");
    expect(pingone.count("POST", /devices$/)).toBe(1);
  });

  test("is unanswered for an activation whose device is not active afterwards", async () => {
    const odd = await answering(() => ({ status: "ACTIVATION_REQUIRED" }));
    const handle = { userId: "u", deviceId: "d", origin: "https://keys.example" };
    const attestation = {
      credentialId: "aWQ",
      clientDataJson: "e30",
      attestationObject: "oA",
      clientExtensionResults: {},
    };
    expect(await kindOf(odd.activate(handle, attestation, "k", { signal }))).toBe("unanswered");
  });

  test("leaves a security key without a name after notAfter, but registered", async () => {
    const methods: string[] = [];
    const odd = await answering(({ method }) => {
      methods.push(method);
      tools.advance(2);
      return { status: "ACTIVE" };
    });
    const handle = { userId: "u", deviceId: "d", origin: "https://keys.example" };
    const notAfter = plus(tools.now(), 1);
    await odd.activate(handle, answerTo(await ask()), "k", { signal, notAfter });
    expect(methods).toEqual(["POST"]);
  });

  test("is a refusal if the stored state has no device, of which a compensation has nothing to remove", async () => {
    const attestation = answerTo(await ask());
    const whole = { userId: "u", deviceId: "d", origin: "https://keys.example" };
    const empty = ["userId", "deviceId", "origin"].map(name => ({ ...whole, [name]: "" }));
    for (const handle of [{}, { userId: "u" }, { ...whole, deviceId: 7 }, ...empty]) {
      expect(await kindOf(idp.activate(handle, attestation, "k", { signal }))).toBe("refused");
      expect(await kindOf(idp.isRegistered?.(handle, queryFor("aWQ"), signal))).toBe("refused");
      await idp.compensate(handle, signal);
    }
    expect(activations()).toBe(0);
    expect(pingone.count("DELETE", device)).toBe(0);
  });

  test("is thrown for the 404 of a proxy, which says nothing about the device", async () => {
    const { challenge } = await activated();
    pingone.fail({ kind: "nonsense", status: 404, method: "GET", times: 6 });
    expect(await kindOf(idp.isRegistered?.(challenge.idpState, queryFor("aWQ"), signal))).toBe("unreachable");
    expect(await kindOf(idp.compensate(challenge.idpState, signal))).toBe("unreachable");
  });
});

test("an activation of kind A requires an origin of the relying party", async () => {
  for (const origin of ["https://notkeys.example", "http://keys.example", "https://keys.example/"]) {
    const challenge = await ask();
    const answer = answerTo({ ...challenge, origin });
    const activation = idp.activate({ ...challenge.idpState, origin }, answer, "k", { signal });
    expect(await kindOf(activation), origin).toBe("refused");
  }
});

describe("a device that an IdP of kind A has created", () => {
  const lost = (of: string, at = tag) => idp.compensateUnanswered?.({ userId: of, tag: at }, signal);

  test("has its tag in its nickname, by which it is found and removed after a lost response", async () => {
    pingone.settings({ maxDevices: 5 });
    const kept = await ask();
    const taggedOf = (number: number) => `request-${number}.s-01-001.1`;
    for (let number = 2; number < 12; number++) {
      pingone.fail({ kind: "drop", method: "POST", path: "devices$", phase: "after" });
      const asked = idp.creationOptions({ userId: user, tag: taggedOf(number) }, signal);
      expect(await kindOf(asked)).toBe("unanswered");
      await lost(user, taggedOf(number));
    }
    expect(pingone.count("DELETE", device)).toBe(10);
    // A device whose response arrived is not removed, nor is an active one.
    await idp.activate(kept.idpState, answerTo(kept), "k", { signal });
    await lost(user);
    expect(pingone.registrations()).toHaveLength(1);
  });

  test("may be missing, also with a deleted or unreadable user", async () => {
    for (const accountStatus of ["known", "unknown", "forbidden"] as const) {
      pingone.setUser(user, accountStatus);
      await lost(user);
    }
    expect(pingone.count("GET", /users\/undefined/)).toBe(0);
    pingone.setUser(user, "known");
    expect(pingone.count("DELETE", device)).toBe(0);
    pingone.fail({ kind: "refuse", status: 500, method: "GET", path: "devices$", times: 3 });
    await expect(lost(user)).rejects.toMatchObject({ kind: "unanswered" });
  });

  test("is created under the configured policy, which PingOne may require", async () => {
    pingone.settings({ policyRequired: true });
    expect(await failureOf(ask())).toMatchObject({
      kind: "refused",
      detail: expect.stringContaining("policy is required"),
    });
    expect(await ask(connect({ "policy-id": "4f1d2c3b" }))).toBeDefined();
  });

  test("is removed by compensate while it is pending, any number of times", async () => {
    pingone.settings({ maxDevices: 1 });
    const challenge = await ask();
    await idp.compensate(challenge.idpState, signal);
    await idp.compensate(challenge.idpState, signal);
    expect(await idp.isRegistered?.(challenge.idpState, queryFor("aWQ"), signal)).toBe(false);
    expect(pingone.count("DELETE", device)).toBe(1);
    // Its place is free again.
    await ask();
    const gone = await failureOf(idp.activate(challenge.idpState, answerTo(challenge), "k", { signal }));
    expect(gone).toMatchObject({ kind: "missing", code: "NOT_FOUND" });
  });

  test("stays if it is active, because it belongs to its user", async () => {
    const { challenge, attestation } = await activated();
    await idp.compensate(challenge.idpState, signal);
    expect(await idp.isRegistered?.(challenge.idpState, queryFor(attestation.credentialId), signal)).toBe(true);
    expect(pingone.count("DELETE", device)).toBe(0);
  });

  test("that is found active gets the name that its user knows, also if that is refused at the activation", async () => {
    pingone.fail({ kind: "refuse", status: 400, method: "PUT", path: "nickname$" });
    const { challenge, attestation } = await activated();
    const named = () => pingone.registrations().map(({ displayName }) => displayName);
    expect(named()).toEqual([`Pending key ${tag}`]);
    await idp.isRegistered?.(challenge.idpState, queryFor(attestation.credentialId, "Desk key: 7"), signal);
    expect(named()).toEqual(["Desk key: 7"]);
    pingone.fail({ kind: "refuse", status: 400, method: "PUT", path: "nickname$" });
    expect(await idp.isRegistered?.(challenge.idpState, queryFor(attestation.credentialId), signal)).toBe(true);
  });

  test("is removed again after a temporary failure, also if the first attempt removed it", async () => {
    const challenge = await ask();
    pingone.fail({ kind: "drop", method: "DELETE", phase: "after" });
    await idp.compensate(challenge.idpState, signal);
    expect(pingone.count("DELETE", device)).toBe(2);
  });

  const publicKey = { rp: { id: "keys.example" }, user: { id: [1], name: "jan" }, challenge: [1] };
  const parameters = { pubKeyCredParams: [{ type: "public-key", alg: "-7" }] };

  test.each([
    ["unreadable", "{", "refused"],
    ["without algorithms", JSON.stringify({ ...publicKey, pubKeyCredParams: [] }), "refused"],
    ["not there", undefined, "refused"],
    [
      "of another relying party",
      JSON.stringify({ ...publicKey, ...parameters, rp: { id: "other.example" } }),
      "refused",
    ],
  ])("is removed if the options are %s", async (_, values, kind) => {
    const calls: string[] = [];
    const odd = await answering(({ method, url }) => {
      calls.push(`${method} ${url.pathname.split("/users/")[1]}`);
      return { id: "d1", status: "ACTIVATION_REQUIRED", publicKeyCredentialCreationOptions: values };
    });
    expect(await kindOf(ask(odd, userUuid))).toBe(kind);
    expect(calls).toEqual([`POST ${userUuid}/devices`, `DELETE ${userUuid}/devices/d1`]);
  });

  test("stays if removing it fails, and is searched for as after a call without an answer", async () => {
    const body = { access_token: "t", id: "d1", publicKeyCredentialCreationOptions: "{" };
    const { url } = await oddPeer(({ method }) => ({ status: method === "DELETE" ? 403 : 200, body }));
    const odd = connect({ "api-base-url": url, "auth-base-url": url });
    expect(await failureOf(ask(odd, userUuid))).toMatchObject({
      kind: "unanswered",
      code: "unusable_options",
    });
  });

  test.each([JSON.stringify, (values: object) => values])(
    "has options in every spelling of bytes and numbers, as a text or an object",
    async written => {
      const values = {
        rp: { id: "keys.example", name: "Keys" },
        user: { id: [12, -7, 255, -128, 127], name: "jan" },
        challenge: [-33, 47],
        pubKeyCredParams: [
          { type: "public-key", alg: "-7" },
          { type: "public-key", alg: -257 },
        ],
        excludeCredentials: ["+/8=", "-_8", [-5, -1]].map(id => ({ type: "public-key", id })),
      };
      const odd = await answering(() => ({ id: "d1", publicKeyCredentialCreationOptions: written(values) }));
      expect((await ask(odd, userUuid)).options).toEqual({
        rp: { id: "keys.example", name: "Keys" },
        user: { id: Buffer.from([12, 249, 255, 128, 127]).toString("base64url"), name: "jan", displayName: "jan" },
        challenge: Buffer.from([223, 47]).toString("base64url"),
        pubKeyCredParams: [
          { type: "public-key", alg: -7 },
          { type: "public-key", alg: -257 },
        ],
        excludeCredentials: [1, 2, 3].map(() => ({ type: "public-key", id: "-_8" })),
      });
    },
  );
});

describe("the client's own credentials at PingOne", () => {
  test.each(["P-256", "P-384"])(
    "may be a private key on %s, also if the connector's clock is half a minute ahead",
    async namedCurve => {
      const { privateKey, publicKey } = generateKeyPairSync("ec", { namedCurve });
      await pingone.close();
      pingone = await start.pingone({ clientKey: await exportJWK(publicKey) });
      ({ connect, tools } = toolsFor.pingone(pingone.url));
      tools.advance(30_000);
      const secret = async () => String(privateKey.export({ type: "pkcs8", format: "pem" }));
      expect(await ask(connect({}, { secret }))).toBeDefined();
    },
  );
});
