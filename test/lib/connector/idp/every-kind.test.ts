import { generateKeyPairSync, randomUUID } from "node:crypto";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { decodeJwt, exportJWK, type JWK, UnsecuredJWT } from "jose";
import { afterEach, beforeEach, describe, expect, onTestFinished, test } from "vitest";
import type { Idp } from "../../../../lib/connector/idp/contract.ts";
import { idpKinds } from "../../../../lib/connector/idp/kinds.ts";
import type { Attestation, Challenge } from "../../../../lib/connector/model/webauthn.ts";
import { bindingOf, bindResponse } from "../../../../lib/connector/peers/bind-response.ts";
import type { PeerFailureKind } from "../../../../lib/platform/peer-failure.ts";
import { plus } from "../../../../lib/platform/time.ts";
import type { FaultRule } from "../../../../local/peers/faults.ts";
import type { Peer } from "../../../../local/peers/peer.ts";
import { createAuthenticator } from "../../../../local/peers/security-key/authenticator.ts";
import { createAuthenticatorKeys } from "../../../../local/peers/security-key/authenticator-keys.ts";
import { failureOf, kindOf } from "../../../support/connector/peer-tools.ts";
import { deadAddress } from "../../../support/dead-address.ts";
import {
  answerTo,
  askFor,
  clientSecret,
  environmentId,
  type IdpTools,
  signal,
  start,
  tag,
  toolsFor,
  user,
} from "./idp-tools.ts";

interface SimulatedIdp extends Peer {
  registrations(): readonly object[];
  revokeTokens(): void;
}

/** Where a simulated IdP keeps its state, its port, and the public key of its client. */
interface Kept {
  readonly statePath?: string;
  readonly port?: number;
  readonly clientKey?: JWK;
}

interface Subject {
  start(kept?: Kept): Promise<SimulatedIdp>;
  tools(url: string): IdpTools;
  /** Path of the call that registers a security key; its method is POST. */
  readonly activation: string;
  /** How many calls of that form the creation options have made. */
  readonly before: number;
  /** A call of the creation options. */
  readonly options: { readonly method: string; readonly path: string };
  /** Path of the token. */
  readonly token: string;
  /** The setting with the address that registers security keys. */
  readonly api: string;
  readonly hasReadBack: boolean;
  /** Whether creation options leave something behind at the IdP. */
  readonly keepsState: boolean;
  /** Path of the call that removes a security key. */
  readonly removal: string;
  /** Calls that the simulated IdP refuses: what is wrong, the address of the call, its change, and the failure. */
  readonly refused: readonly (readonly [string, RegExp, Change, PeerFailureKind])[];
}

/** A call of the connector, and how a test changes it. */
interface Sent {
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
}
type Change = (sent: Sent) => Partial<Sent>;

const url =
  (pattern: RegExp | string, by: string): Change =>
  sent => ({ url: sent.url.replace(pattern, by) });
const headers =
  (changed: Readonly<Record<string, string>>): Change =>
  sent => ({ headers: { ...sent.headers, ...changed } });
/** The members of bodies that a test changes. */
interface Body {
  readonly displayName: string;
  readonly publicKeyCredential: object;
  readonly attestation: string;
  readonly authId: string;
  readonly callbacks: readonly { readonly input: readonly { value: string }[] }[];
}
const body =
  (changed: (members: Body) => object): Change =>
  sent =>
    sent.body === "" ? {} : { body: JSON.stringify(changed(JSON.parse(sent.body))) };
const wrongToken = headers({ authorization: "Bearer wrong" });
const credential = (changed: object) =>
  body(({ publicKeyCredential, ...rest }) => ({
    ...rest,
    publicKeyCredential: { ...publicKeyCredential, ...changed },
  }));
const attestation = (changed: object) =>
  body(({ attestation, ...rest }) => ({
    ...rest,
    attestation: JSON.stringify({ ...JSON.parse(attestation), ...changed }),
  }));
/** Changes the outcome of a journey, which is a text of several parts in JSON. */
const outcome = (changed: (parts: string[]) => string) =>
  body(step => {
    const input = step.callbacks.at(-1)?.input[0];
    if (input?.value.includes("legacyData")) input.value = changed(JSON.parse(input.value).legacyData.split("::"));
    return step;
  });
const asJson = (...parts: readonly string[]) =>
  JSON.stringify({ authenticatorAttachment: "cross-platform", legacyData: parts.join("::") });

/** What an activation can meet, and the kind of failure that it is at every IdP. */
const failures: readonly (readonly [string, FaultRule, PeerFailureKind])[] = [
  ...([400, 405, 409, 410, 422] as const).map(
    status => [`${status}`, { kind: "refuse", status, body: {} }, "refused"] as const,
  ),
  ...([401, 403] as const).map(status => [`${status}`, { kind: "refuse", status, body: {} }, "unauthorized"] as const),
  ["404 of a proxy", { kind: "nonsense", status: 404 }, "unreachable"],
  ["429", { kind: "throttle", body: {} }, "throttled"],
  ...([307, 408, 500, 502, 503] as const).map(
    status => [`${status}`, { kind: "refuse", status, body: {} }, "unanswered"] as const,
  ),
  ["a page with 200", { kind: "nonsense" }, "unanswered"],
  ["a body that breaks off", { kind: "cut" }, "unanswered"],
  ["a lost connection", { kind: "drop" }, "unanswered"],
];

const subjects: Record<string, Subject> = {
  entra: {
    start: start.entra,
    tools: toolsFor.entra,
    activation: "/fido2Methods$",
    before: 0,
    api: "graph-endpoint",
    options: { method: "GET", path: "creationOptions" },
    token: "/oauth2/",
    keepsState: false,
    hasReadBack: true,
    removal: "/fido2Methods/[^/]+$",
    refused: [
      ["another tenant", /oauth2/, url("tenant.example", "other.example"), "unauthorized"],
      ["a wrong token", /fido2Methods/, wrongToken, "unauthorized"],
      ["a parameter in the query", /creationOptions/, url(/\((.*)\)$/, "?$1"), "refused"],
      ["less than five minutes", /creationOptions/, url(/\d+\)$/, "4)"), "refused"],
      ["more than 30 days", /creationOptions/, url(/\d+\)$/, "43201)"), "refused"],
      ["a parameter of version 1.0", /creationOptions/, url("/beta/", "/v1.0/"), "refused"],
      ["a name of 31 characters", /fido2Methods$/, body(sent => ({ ...sent, displayName: "x".repeat(31) })), "refused"],
      ["no credential", /fido2Methods$/, body(({ displayName }) => ({ displayName })), "refused"],
      ["an id in base64", /fido2Methods$/, credential({ id: "a+b/==" }), "refused"],
      ["no attestation", /fido2Methods$/, credential({ response: { clientDataJSON: "AAAA" } }), "refused"],
    ],
  },
  pingone: {
    start: start.pingone,
    tools: toolsFor.pingone,
    activation: "/devices/[^/]+$",
    before: 0,
    api: "api-base-url",
    options: { method: "POST", path: "/devices$" },
    token: "/as/token$",
    keepsState: true,
    hasReadBack: true,
    removal: "/devices/[^/]+$",
    refused: [
      ["another environment", /\/v1\//, url(environmentId, "other"), "missing"],
      ["a wrong token", /\/v1\//, wrongToken, "unauthorized"],
      ["a search for an address", /users\?/, url("username+eq", "email+eq"), "refused"],
      ["a search for two names", /users\?/, url("%22&", "%22+or+username+eq+%22b%22&"), "refused"],
      ["a device of another type", /devices$/, body(sent => ({ ...sent, type: "SMS" })), "refused"],
      ["a relying party without id", /devices$/, body(sent => ({ ...sent, rp: { id: "", name: "x" } })), "refused"],
      ["another media type", /devices\/[^/]+$/, headers({ "content-type": "application/json" }), "refused"],
      ["ids that differ", /devices\/[^/]+$/, attestation({ rawId: "AAAA" }), "refused"],
      ["base64url", /devices\/[^/]+$/, attestation({ response: { clientDataJSON: "-_8" } }), "refused"],
      ["no text", /devices\/[^/]+$/, body(sent => ({ ...sent, attestation: JSON.parse(sent.attestation) })), "refused"],
    ],
  },
  aic: {
    start: start.aic,
    tools: toolsFor.aic,
    activation: "/authenticate$",
    before: 2,
    api: "api-base-url",
    options: { method: "POST", path: "/authenticate$" },
    token: "/access_token$",
    keepsState: false,
    hasReadBack: false,
    removal: "/webauthn/[^/]+$",
    refused: [
      ["another realm", /access_token$/, url("alpha", "bravo"), "unauthorized"],
      ["a wrong token", /authenticate/, wrongToken, "unauthorized"],
      ["another journey", /authenticate/, url("Register+Key", "Other"), "unauthorized"],
      ["another version of the API", /authenticate/, headers({ "accept-api-version": "" }), "unauthorized"],
      ["an unreadable authId", /authenticate/, body(sent => ({ ...sent, authId: "x" })), "refused"],
      [
        "an authId that it did not sign",
        /authenticate/,
        body(sent => ({ ...sent, authId: new UnsecuredJWT(decodeJwt(sent.authId)).encode() })),
        "refused",
      ],
      ["callbacks of another form", /authenticate/, body(sent => ({ ...sent, callbacks: "x" })), "refused"],
      ["an outcome without id", /authenticate/, outcome(parts => asJson(...parts.slice(0, 2))), "refused"],
      ["an outcome with more parts", /authenticate/, outcome(parts => asJson(...parts, "a", "b")), "refused"],
      ["an outcome that is not JSON", /authenticate/, outcome(parts => parts.join("::")), "refused"],
      ["no bytes", /authenticate/, outcome(([data = "", , id = ""]) => asJson(data, "163,99", id)), "refused"],
    ],
  },
};

test("every kind is tested here", () => {
  expect(Object.keys(subjects).sort()).toEqual(idpKinds.map(({ type }) => type).sort());
});

describe.each(Object.entries(subjects))("an IdP of the kind %s", (_, subject) => {
  let peer: SimulatedIdp;
  let idp: Idp;
  let { connect, queryFor, tools }: IdpTools = subject.tools("http://127.0.0.1");
  const activations = () => peer.count("POST", new RegExp(subject.activation));
  const grants = () => peer.count("POST", new RegExp(subject.token));
  const activate = (of: Idp, { idpState }: Challenge, response: Attestation) =>
    of.activate(idpState, response, "Desk key: 30000001", { signal });

  const control = (path: string, body: unknown = {}) =>
    fetch(`${peer.url}/_control/${path}`, { method: "POST", body: JSON.stringify(body) });

  beforeEach(async () => {
    peer = await subject.start();
    ({ connect, queryFor, tools } = subject.tools(peer.url));
    idp = connect();
  });
  afterEach(() => peer.close());

  test("returns a challenge, registers the security key and shows it in the read-back", async () => {
    const challenge = await askFor(idp);
    const response = answerTo(challenge);
    const found = () => idp.isRegistered?.(challenge.idpState, queryFor(response.credentialId), signal);
    const answerOf = (isRegistered: boolean) => (subject.hasReadBack ? isRegistered : undefined);
    expect(bindResponse(response, bindingOf(challenge))).toBeUndefined();
    expect(await found()).toBe(answerOf(false));
    expect(peer.registrations()).toEqual([]);
    await activate(idp, challenge, response);
    expect(peer.registrations()).toEqual([
      { userId: user, credentialId: response.credentialId, displayName: "Desk key: 30000001" },
    ]);
    expect(await found()).toBe(answerOf(true));
    const before = peer.requests().length;
    if (!subject.keepsState) await idp.compensate(challenge.idpState, signal);
    expect(peer.requests()).toHaveLength(before);
    const again = await askFor(idp);
    expect(again.options.excludeCredentials).toEqual([{ type: "public-key", id: response.credentialId }]);
    expect(grants()).toBe(1);
  });

  test.each([
    [{ kind: "drop", phase: "after" }, "unanswered", true],
    [{ kind: "refuse", phase: "after", status: 504 }, "unanswered", true],
    [{ kind: "nonsense", phase: "after" }, "unanswered", true],
    [{ kind: "throttle", retryAfter: 17 }, "throttled", false],
  ] as const)(
    "reports a failed activation unchanged and does not repeat the call: %o",
    async (fault, kind, isRegistered) => {
      const challenge = await askFor(idp);
      const response = answerTo(challenge);
      tools.advance(10_000);
      peer.fail({ ...fault, method: "POST", path: subject.activation });
      const failure = await failureOf(activate(idp, challenge, response));
      expect(failure.kind).toBe(kind);
      if (kind === "throttled") expect(failure.retryAfterSeconds).toBe(17);
      expect(activations()).toBe(subject.before + 1);
      expect(peer.registrations()).toHaveLength(isRegistered ? 1 : 0);
      if (subject.hasReadBack)
        expect(await idp.isRegistered?.(challenge.idpState, queryFor(response.credentialId), signal)).toBe(
          isRegistered,
        );
      // The connector decides whether the same response is sent again. A used challenge is then refused, with one call.
      const again = activate(idp, challenge, response);
      if (isRegistered) expect(await kindOf(again)).toBe("refused");
      else await again;
      expect(activations()).toBe(subject.before + 2);
      expect(peer.registrations()).toHaveLength(1);
      expect(grants()).toBe(1);
    },
  );

  test("reports each failure of an activation as the same kind as every other IdP", async () => {
    const challenge = await askFor(idp);
    const response = answerTo(challenge);
    const kinds: [string, PeerFailureKind][] = [];
    for (const [name, fault] of failures) {
      peer.fail({ ...fault, method: "POST", path: subject.activation });
      kinds.push([name, await kindOf(activate(idp, challenge, response))]);
    }
    expect(kinds).toEqual(failures.map(([name, , kind]) => [name, kind]));
    expect(activations()).toBe(subject.before + failures.length);
    expect(await kindOf(activate(connect({ [subject.api]: deadAddress }), challenge, response))).toBe("unreachable");
    expect(await kindOf(activate(idp, { ...challenge, idpState: {} }, response))).toBe("refused");
    if (subject.hasReadBack)
      expect(await kindOf(idp.isRegistered?.({}, queryFor(response.credentialId), signal))).toBe("refused");
    expect(activations()).toBe(subject.before + failures.length);
    await activate(idp, challenge, response);
  });

  /** Two registered security keys of a user, and how the first one is revoked. */
  async function registered(of = user) {
    const [challenge, second] = [await askFor(idp, of), await askFor(idp, of)];
    const [response, other] = [answerTo(challenge), answerTo(second)];
    const registrationId = await activate(idp, challenge, response);
    await activate(idp, second, other);
    const { credentialId } = response;
    const revoke = (of: Idp = idp) => of.revoke(challenge.idpState, { credentialId, registrationId }, signal);
    const removals = () => peer.count("DELETE", new RegExp(subject.removal));
    return { revoke, removals, credentialId, other: { credentialId: other.credentialId } };
  }

  test("revokes a credential and leaves the others of its user; a repeat changes nothing", async () => {
    const { revoke, other } = await registered();
    await revoke();
    expect(peer.registrations()).toMatchObject([other]);
    await revoke();
    expect(peer.registrations()).toMatchObject([other]);
  });

  test("revokes once if the answer is lost, and counts a deleted user as revoked", async () => {
    const { revoke, removals, other } = await registered();
    peer.fail({ kind: "drop", method: "DELETE", phase: "after" });
    await revoke();
    expect(removals()).toBe(2);
    expect(peer.registrations()).toMatchObject([other]);
    const deleted = randomUUID();
    const { revoke: ofDeletedUser } = await registered(deleted);
    await control(`users/${deleted}`, { accountStatus: "unknown" });
    await ofDeletedUser();
  });

  test("revokes a credential of a user who was renamed, also if another user has the former name", async () => {
    const { revoke, other } = await registered();
    const renamed = "renamed@example.com";
    expect((await control(`users/${user}`, { name: renamed })).status).toBe(204);
    await control("users/other@example.com", { name: user });
    await revoke();
    expect(peer.registrations()).toMatchObject([{ ...other, userId: renamed }]);
  });

  test("reports each failure of a revocation as the same kind as every other IdP", async () => {
    const { revoke, credentialId } = await registered();
    for (const [name, fault, kind] of failures) {
      peer.fail({ ...fault, method: "DELETE", times: 3 });
      expect(await kindOf(revoke()), name).toBe(kind);
      peer.clearFaults();
    }
    for (const status of [200, 202]) {
      peer.fail({ kind: "nonsense", status, body: {}, method: "DELETE", times: 3 });
      expect(await kindOf(revoke()), `an empty object with ${status}`).toBe("unanswered");
      peer.clearFaults();
    }
    expect(await kindOf(revoke(connect({ [subject.api]: deadAddress })))).toBe("unreachable");
    expect(await kindOf(idp.revoke({}, { credentialId }, signal))).toBe("refused");
    expect(peer.registrations()).toHaveLength(2);
  });

  test("repeats a read after temporary failures", async () => {
    const challenge = await askFor(idp);
    const response = answerTo(challenge);
    await activate(idp, challenge, response);
    if (!subject.hasReadBack) return;
    peer.fail({ kind: "refuse", status: 503, method: "GET" });
    peer.fail({ kind: "throttle", method: "GET" });
    expect(await idp.isRegistered?.(challenge.idpState, queryFor(response.credentialId), signal)).toBe(true);
  });

  test("refuses another relying party than it was asked for, unless it registers for any", async () => {
    const { options } = await askFor(idp);
    expect((await askFor(idp, user, options.rp.id)).options.rp.id).toBe(options.rp.id);
    const other = failureOf(askFor(idp, user, "other.example"));
    if (subject.keepsState) await expect(other).rejects.toThrow();
    else
      expect(await other).toMatchObject({
        code: "unusable_options",
        detail: `The relying party of this IdP is ${options.rp.id}; its configuration has another default-relying-party.`,
      });
  });

  test("does not start an activation after notAfter", async () => {
    const challenge = await askFor(idp);
    const notAfter = plus(tools.now(), -1);
    const late = idp.activate(challenge.idpState, answerTo(challenge), "k", { signal, notAfter });
    expect(await kindOf(late)).toBe("unreachable");
    expect(activations()).toBe(subject.before);
  });

  test("ends an activation at the time limit, which includes the token", async () => {
    const challenge = await askFor(idp);
    const response = answerTo(challenge);
    peer.fail({ kind: "hang", method: "POST", path: subject.activation });
    expect(await kindOf(activate(connect({}, { timeLimitMs: 200 }), challenge, response))).toBe("unanswered");
    peer.fail({ kind: "hang", path: subject.token, times: 9 });
    expect(await kindOf(activate(connect({}, { timeLimitMs: 50 }), challenge, response))).toBe("unreachable");
  });

  test("ends a call with the caller's signal", async () => {
    peer.fail({ kind: "hang", ...subject.options });
    const leaving = new AbortController();
    // Its own time limit is longer than that of a test.
    const patient = connect({}, { timeLimitMs: 600_000 });
    const left = kindOf(patient.creationOptions({ userId: user, tag }, leaving.signal));
    await peer.untilHanging();
    leaving.abort();
    expect(await left).toBe("unanswered");
  });

  test("authenticates with a client secret or a private key", async () => {
    const { privateKey, publicKey } = generateKeyPairSync("rsa", { modulusLength: 2048 });
    await peer.close();
    peer = await subject.start({ clientKey: await exportJWK(publicKey) });
    const { connect } = subject.tools(peer.url);
    const pem = String(privateKey.export({ type: "pkcs8", format: "pem" }));
    for (const secret of [clientSecret, pem]) await askFor(connect({}, { secret: async () => secret }));
    const failure = await failureOf(askFor(connect({}, { secret: async () => "wrong" })));
    expect(failure).toMatchObject({ peer: "IdP main", kind: "unauthorized", code: "invalid_client" });
  });

  test("requests a new token once if the old one is not accepted any more", async () => {
    await askFor(idp);
    peer.revokeTokens();
    tools.advance(10_000);
    expect(await askFor(idp)).toBeDefined();
    expect(grants()).toBe(2);
  });

  test.each(subject.refused)("is simulated strictly: refuses %s", async (_, address, change, kind) => {
    const changed: typeof fetch = async (input, init) => {
      const headers = Object.fromEntries(new Headers(init?.headers));
      const sent = { url: String(input), headers, body: String(init?.body ?? "") };
      const { url, ...rest } = address.test(sent.url) ? { ...sent, ...change(sent) } : sent;
      return fetch(url, { ...init, headers: rest.headers, ...(init?.body && { body: rest.body }) });
    };
    const idp = connect({}, { fetch: changed });
    const registration = askFor(idp).then(challenge => activate(idp, challenge, answerTo(challenge)));
    expect(await kindOf(registration)).toBe(kind);
    expect(peer.registrations()).toEqual([]);
  });

  test("is simulated strictly: registers no credential that was not made for its challenge", async () => {
    const unregistered = createAuthenticator(await createAuthenticatorKeys());
    const other = await askFor(idp, "other@example.com");
    const wrong: Record<string, (challenge: Challenge) => Attestation> = {
      "another maker": challenge => answerTo(challenge, unregistered),
      "another origin": challenge => answerTo({ ...challenge, origin: "https://other.example" }),
      "another relying party": ({ options, ...rest }) =>
        answerTo({ ...rest, options: { ...options, rp: { ...options.rp, id: "other.example" } } }),
      "another challenge": () => answerTo(other),
      "another id": challenge => ({ ...answerTo(challenge), credentialId: "AAAA" }),
    };
    for (const [why, answer] of Object.entries(wrong)) {
      // Of a person of its own: some count what was begun.
      const challenge = await askFor(idp, `${why.replace(" ", "-")}@example.com`);
      expect(await kindOf(activate(idp, challenge, answer(challenge))), why).toBe("refused");
    }
    const late = await askFor(idp);
    expect((await control("expire-challenges")).status).toBe(204);
    expect(await kindOf(activate(idp, late, answerTo(late)))).toBe("refused");
    expect(peer.registrations()).toEqual([]);

    const challenge = await askFor(idp);
    const response = answerTo(challenge);
    const twice = await Promise.allSettled([1, 2].map(() => activate(idp, challenge, response)));
    expect(twice.map(({ status }) => status).sort()).toEqual(["fulfilled", "rejected"]);
    expect(peer.registrations()).toHaveLength(1);
  });

  test("is simulated with users who are unknown, or may have no security keys", async () => {
    for (const name of ["unknown.person@example.com", "Blocked.guest@example.com"])
      expect(["missing", "refused"], name).toContain(await kindOf(askFor(idp, name)));
    for (const accountStatus of ["unknown", "forbidden", "blocked"]) {
      expect((await control(`users/${user}`, { accountStatus: "known" })).status).toBe(204);
      const challenge = await askFor(idp);
      expect((await control(`users/${user.toUpperCase()}`, { accountStatus })).status).toBe(204);
      expect(await kindOf(activate(idp, challenge, answerTo(challenge))), accountStatus).toBeDefined();
    }
    expect(peer.registrations()).toEqual([]);
  });

  test("is simulated by a program that other programs control", async () => {
    const challenge = await askFor(idp);
    const response = answerTo(challenge);
    await activate(idp, challenge, response);
    const shown = async (userId: string) =>
      (await fetch(`${peer.url}/_control/registrations?user_id=${encodeURIComponent(userId)}`)).json();
    expect(await shown(user.toUpperCase())).toMatchObject([{ userId: user, credentialId: response.credentialId }]);
    expect(await shown("other@example.com")).toEqual([]);
    expect((await control("settings", { expiresIn: 0 })).status).toBe(204);
    expect((await control("settings", { expireIn: 0 })).status).toBe(400);
    expect((await control(`users/${user}`, { accountStatus: "absent" })).status).toBe(400);
    expect((await control("revoke-tokens")).status).toBe(204);
    tools.advance(10_000);
    // Each token has expired when it comes.
    expect(await kindOf(askFor(idp))).toBeDefined();
  });

  test("is simulated with tokens, challenges, users and security keys that a restart keeps", async () => {
    const folder = mkdtempSync(join(tmpdir(), "idp-"));
    onTestFinished(() => rmSync(folder, { recursive: true }));
    const kept = { statePath: join(folder, "idp.json") };
    const restart = async (port: number) => {
      await peer.close();
      peer = await subject.start({ ...kept, port });
    };
    await restart(0);
    ({ connect } = subject.tools(peer.url));
    idp = connect();
    await control("users/gone@example.com", { accountStatus: "unknown" });
    const [first, second] = [await askFor(idp), await askFor(idp)];
    const response = answerTo(first);
    await activate(idp, first, response);
    await restart(Number(new URL(peer.url).port));
    // The first call may find a connection of before.
    await expect.poll(() => askFor(idp).then(Boolean, () => false)).toBe(true);
    expect(await kindOf(activate(idp, first, response))).toBe("refused");
    await activate(idp, second, answerTo(second));
    expect(["missing", "refused"]).toContain(await kindOf(askFor(idp, "gone@example.com")));
    expect(peer.registrations()).toHaveLength(2);
    expect(grants()).toBe(0);
  });
});
