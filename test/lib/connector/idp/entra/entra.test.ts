import { randomUUID } from "node:crypto";
import { decode, encode } from "cborg";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import type { Idp, RegistrationQuery } from "../../../../../lib/connector/idp/contract.ts";
import { plus } from "../../../../../lib/platform/time.ts";
import type { Entra } from "../../../../../local/peers/entra/entra.ts";
import type { FaultRule } from "../../../../../local/peers/faults.ts";
import type { HttpCall } from "../../../../../local/peers/peer.ts";
import { idOfUser } from "../../../../../local/peers/uuid-of.ts";
import { failureOf, kindOf, oddPeer } from "../../../../support/connector/peer-tools.ts";
import { measureCpu } from "../../../../support/cpu-time.ts";
import { answerTo, askFor, type IdpTools, signal, start, toolsFor, user } from "../idp-tools.ts";

let entra: Entra;
let connect: IdpTools["connect"];
let queryFor: IdpTools["queryFor"];
let tools: IdpTools["tools"];
let idp: Idp;

beforeEach(async () => {
  entra = await start.entra();
  ({ connect, queryFor, tools } = toolsFor.entra(entra.url));
  idp = connect();
});

afterEach(() => entra.close());

/** Settings with which the client needs no secret. */
const identity = { "managed-identity": true };

const ask = (of: Idp = idp, userId = user) => askFor(of, userId);

/** A Graph of the test's own, for a client that needs no secret and has no permission to read users. */
async function answering(answer: (call: HttpCall) => unknown) {
  const { url, calls } = await oddPeer(call =>
    /\/users\/[^/]+$/.test(call.path) ? { status: 403 } : { status: 200, body: answer(call) },
  );
  const odd = connect({ "graph-endpoint": url, ...identity }, { managedIdentityToken: async () => "t" });
  return { odd, calls };
}

const graphCalls = () => entra.requests().filter(({ path }) => /fido2Methods/.test(path));
const account = /\/users\/[^/]+$/;
const reads = () => entra.count("GET", account);
const grants = () => entra.count("POST", /oauth2/);

describe("an IdP of kind B", () => {
  test("does not show another security key in the read-back", async () => {
    const challenge = await ask();
    await idp.activate(challenge.idpState, answerTo(challenge), "Desk key: 30000001", { signal });
    const other = queryFor(answerTo(challenge).credentialId, "Desk key: 30000002");
    expect(await idp.isRegistered?.(challenge.idpState, other, signal)).toBe(false);
  });

  test("gives the options as WebAuthn has them, its origin, its end and a small handle", async () => {
    const challenge = await ask(connect({ "challenge-timeout-minutes": 60 }));
    const { options, expiresAt } = challenge;
    expect(options).toMatchObject({
      user: { name: user },
      pubKeyCredParams: [
        { type: "public-key", alg: -7 },
        { type: "public-key", alg: -257 },
      ],
      authenticatorSelection: { userVerification: "required" },
      attestation: "direct",
    });
    expect(options.challenge).toMatch(/^[\w-]{1000,}$/);
    // What Graph says about its own types is not WebAuthn's; everything else is passed on.
    expect(JSON.stringify(options)).not.toContain("@odata");
    expect(options.extensions).toMatchObject({ hmacCreateSecret: true, nested: [{ kept: true }] });
    expect(Object.keys(options.authenticatorSelection ?? {})).toEqual([
      "authenticatorAttachment",
      "requireResidentKey",
      "userVerification",
    ]);
    expect(challenge.origin).toBe(`https://${options.rp.id}`);
    expect(Math.abs((expiresAt?.getTime() ?? 0) - Date.now() - 3_600_000)).toBeLessThan(60_000);
    expect(challenge.idpState).toEqual({ userId: idOfUser(user) });
  });

  test("names its relying party by its settings", () => {
    expect(idp.defaultRelyingPartyId).toBe("login.microsoft.com");
    expect(connect({ "default-relying-party": "login.microsoft.us" }).defaultRelyingPartyId).toBe("login.microsoft.us");
  });

  test.each([
    ["fido-u2f", "The attestation has the format fido-u2f; Microsoft Graph accepts packed and none."],
    ["packed", undefined],
  ])("names the format %s of a refused attestation only if Graph does not document it", async (fmt, note) => {
    const challenge = await ask();
    const answer = answerTo(challenge);
    const object = decode(Buffer.from(answer.attestationObject, "base64url"));
    const attestationObject = Buffer.from(encode({ ...object, fmt, attStmt: {} })).toString("base64url");
    const refused = await failureOf(
      idp.activate(challenge.idpState, { ...answer, attestationObject }, "Desk key", { signal }),
    );
    expect(refused).toMatchObject({ kind: "refused", status: 400, code: "BadRequest" });
    if (note === undefined) expect(refused.detail).not.toContain("format packed");
    else expect(refused.detail).toMatch(new RegExp(`^The attestation was refused.* ${note}$`));
  });

  test("finds a security key that Graph lists under a GUID by its name, if it was created since the activation", async () => {
    entra.settings({ methodIds: "guid" });
    const name = "Desk key: 30000001";
    const challenge = await ask();
    const { credentialId } = answerTo(challenge);
    const found = (changes: Partial<RegistrationQuery> = {}) =>
      idp.isRegistered?.(challenge.idpState, { ...queryFor(credentialId, name), ...changes }, signal);
    expect(await found()).toBe(false);
    const methodId = await idp.activate(challenge.idpState, answerTo(challenge), name, { signal });
    expect(methodId).toMatch(/^[0-9a-f]{8}-/);
    expect(await found()).toBe(methodId);
    expect(await found({ name: "Desk key: 30000002" })).toBe(false);
    expect(await found({ since: plus(tools.now(), 3_600_000) })).toBe(false);
    // The registration of another credential of the key, which has the same name.
    expect(await found({ others: [methodId ?? ""] })).toBe(false);
    // Two have the name, so it is not known which one it is.
    const second = await ask();
    await idp.activate(second.idpState, answerTo(second), name, { signal });
    expect(await found()).toBeUndefined();
    expect(await found({ others: [methodId ?? ""] })).toMatch(/^[0-9a-f]{8}-/);
  });

  test("revokes a security key that Graph lists under a GUID by that GUID only", async () => {
    entra.settings({ methodIds: "guid" });
    const [first, second] = [await ask(), await ask()];
    const [attestation, other] = [answerTo(first), answerTo(second)];
    const registrationId = await idp.activate(first.idpState, attestation, "Desk key: 1", { signal });
    await idp.activate(second.idpState, other, "Desk key: 1", { signal });
    const { credentialId } = attestation;
    expect(await failureOf(idp.revoke(first.idpState, { credentialId }, signal))).toMatchObject({
      kind: "refused",
      detail: expect.stringContaining("do not tell which one"),
    });
    expect(entra.registrations()).toHaveLength(2);
    for (let time = 0; time < 2; time++) await idp.revoke(first.idpState, { credentialId, registrationId }, signal);
    expect(entra.registrations()).toMatchObject([{ credentialId: other.credentialId }]);
    expect(entra.count("DELETE", /fido2Methods/)).toBe(1);
  });

  test("registers and finds the key of a user who was renamed after the order", async () => {
    const challenge = await ask();
    const attestation = answerTo(challenge);
    entra.renameUser(user, "renamed@example.com");
    await idp.activate(challenge.idpState, attestation, "Desk key: 1", { signal });
    expect(entra.registrations()).toMatchObject([{ userId: "renamed@example.com" }]);
    expect(await idp.isRegistered?.(challenge.idpState, queryFor(attestation.credentialId), signal)).toBe(true);
  });

  test.each([
    ["unknown", []],
    ["another user's", ["other@example.com"]],
  ])("does not take a key for removed if the principal name of its user is %s now", async (_, others) => {
    entra.settings({ readsUsers: false });
    const challenge = await ask();
    expect(challenge.idpState).toEqual({ userId: user });
    const attestation = answerTo(challenge);
    await idp.activate(challenge.idpState, attestation, "Desk key: 1", { signal });
    entra.renameUser(user, "renamed@example.com");
    for (const other of others) entra.renameUser(other, user);
    const { credentialId } = attestation;
    expect(await failureOf(idp.revoke(challenge.idpState, { credentialId }, signal))).toMatchObject({
      kind: "refused",
      detail: expect.stringMatching(/^Microsoft Graph lists no such key for the user, who may have been/),
    });
    expect(entra.registrations()).toMatchObject([{ userId: "renamed@example.com" }]);
  });

  test("asks for the object id of a principal name only", async () => {
    await ask();
    await ask(idp, randomUUID());
    expect(reads()).toBe(1);
  });

  test.each<[string, FaultRule]>([
    ["is refused", { kind: "refuse", status: 403 }],
    ["fails", { kind: "refuse", status: 400 }],
    ["names no user", { kind: "refuse", status: 200, body: {} }],
    ["names another kind of id", { kind: "refuse", status: 200, body: { id: "jan" } }],
    ["has no end", { kind: "hang" }],
  ])("gives creation options without an object id if its read %s", async (_, fault) => {
    entra.fail({ ...fault, path: account.source });
    const wholeTime = AbortSignal.timeout(3500);
    const challenge = await ask(connect({}, { timeLimitMs: 4000 }));
    expect(challenge.idpState).toEqual({ userId: user });
    expect(reads()).toBe(1);
    // The options have waited for a part of the time limit of a call only.
    expect(wholeTime.aborted).toBe(false);
  });

  test("reads the account once for the check of the user and the creation options beside it", async () => {
    const leaving = new AbortController();
    entra.fail({ kind: "hang", path: account.source });
    const checked = idp.checkUser?.({ userId: user }, leaving.signal);
    const challenge = ask();
    await entra.untilHanging();
    // The check that began the read leaves, and the creation options still get the id.
    leaving.abort();
    expect(await checked).toContainEqual(expect.objectContaining({ code: "not_checked" }));
    entra.release();
    expect((await challenge).idpState).toEqual({ userId: idOfUser(user) });
    expect(reads()).toBe(1);
  });

  test("does not trust a name that was cut to Graph's limit", async () => {
    entra.settings({ methodIds: "guid" });
    const name = "A key with a long name: 300000000001";
    const challenge = await ask();
    const attestation = answerTo(challenge);
    await idp.activate(challenge.idpState, attestation, name, { signal });
    expect(
      await idp.isRegistered?.(challenge.idpState, queryFor(attestation.credentialId, name), signal),
    ).toBeUndefined();
  });

  test("is called in the form of its API version", async () => {
    await ask();
    await ask(connect({ "api-version": "v1.0" }));
    expect(graphCalls().map(({ path, status }) => [path, status])).toEqual([
      [`/beta/users/${user}/authentication/fido2Methods/creationOptions(challengeTimeoutInMinutes=20160)`, 200],
      [`/v1.0/users/${user}/authentication/fido2Methods/creationOptions`, 200],
    ]);
  });

  test("is called in version 1.0 from challenge to read-back, with challenges of 5 minutes", async () => {
    const stable = connect({ "api-version": "v1.0" });
    const asked = Date.now();
    const challenge = await ask(stable);
    expect(Math.abs((challenge.expiresAt?.getTime() ?? 0) - asked - 300_000)).toBeLessThan(60_000);
    const attestation = answerTo(challenge);
    await stable.activate(challenge.idpState, attestation, "k", { signal });
    expect(await stable.isRegistered?.(challenge.idpState, queryFor(attestation.credentialId), signal)).toBe(true);
    expect(graphCalls().filter(({ path }) => !path.startsWith("/v1.0/"))).toEqual([]);
    expect(entra.registrations()).toHaveLength(1);
  });

  test("refuses permanently with 405, as for the parameter in a query or for the connector's own user", async () => {
    const body = { error: { code: "methodNotAllowed", message: "Specified HTTP method is not allowed." } };
    entra.fail({ kind: "refuse", status: 405, body, path: "creationOptions" });
    const refused = { kind: "refused", status: 405, code: "methodNotAllowed", isTransient: false };
    expect(await failureOf(ask())).toMatchObject(refused);
    expect(graphCalls()).toHaveLength(1);
  });

  test.each([
    ["6f1c1a52-2f7e-4f0d-8a57-0c3f3f0f9d11", "/6f1c1a52-2f7e-4f0d-8a57-0c3f3f0f9d11"],
    ["guest_x.example#EXT#@example.com", "/guest_x.example%23EXT%23%40example.com"],
    ["a/../b?c@example.com", "/a%2F..%2Fb%3Fc%40example.com"],
    ["o'neil@example.com", "/o'neil%40example.com"],
    ["$dollar@example.com", "('%24dollar%40example.com')"],
    ["$o'neil@example.com", "('%24o''neil%40example.com')"],
    ["..", "('..')"],
    [".", "('.')"],
  ])("is called with the user %s in Graph's notation", async (userId, segment) => {
    const { odd, calls } = await answering(() => ({ value: [] }));
    await odd.isRegistered?.({ userId }, queryFor("aWQ"), signal);
    expect(calls.map(({ url }) => url.pathname)).toEqual([`/beta/users${segment}/authentication/fido2Methods`]);
  });

  test("shows at most 30 characters of a name", async () => {
    const challenge = await ask();
    await idp.activate(challenge.idpState, answerTo(challenge), `${"x".repeat(18)}: 1234567890123`, { signal });
    expect(entra.registrations()[0]?.displayName).toBe(`${"x".repeat(18)}: 1234567890`);
  });
});

describe("a failure of an IdP of kind B", () => {
  test.each([
    ["unknown-user", "missing", 404, "Request_ResourceNotFound"],
    ["blocked-user", "refused", 400, expect.any(String)],
    ["forbidden-user", "unauthorized", 403, "accessDenied"],
  ])("is %s: %s", async (userId, kind, status, code) => {
    entra.setUser("forbidden-user", "forbidden");
    expect(await failureOf(ask(idp, userId))).toMatchObject({ peer: "IdP main", kind, status, code });
  });

  test("ends a call at the time limit, which includes the token of the managed identity", async () => {
    const stuck = connect(identity, { timeLimitMs: 50, managedIdentityToken: () => new Promise(() => {}) });
    expect(await kindOf(ask(stuck))).toBe("unreachable");
  });

  test("is not thrown for a deleted user, who has no keys, but for an address that is not Graph's", async () => {
    expect(await idp.isRegistered?.({ userId: "unknown-user" }, queryFor("aWQ"), signal)).toBe(false);
    entra.fail({ kind: "nonsense", status: 404, path: "fido2Methods", times: 3 });
    expect(await kindOf(idp.isRegistered?.({ userId: user }, queryFor("aWQ"), signal))).toBe("unreachable");
  });
});

describe("the client's own credentials", () => {
  test("are the managed identity if it is configured, and no secret is read", async () => {
    const { url: graph, calls } = await oddPeer(() => ({ status: 200, body: { value: [] } }));
    const secret = () => Promise.reject(new Error("there is none"));
    const managedIdentityToken = async (scope: string) => `token for ${scope}`;
    const byIdentity = connect({ "graph-endpoint": graph, ...identity }, { secret, managedIdentityToken });
    await byIdentity.isRegistered?.({ userId: user }, queryFor("aWQ"), signal);
    expect(calls.map(({ headers }) => headers.authorization)).toEqual([`Bearer token for ${graph}/.default`]);
    expect(grants()).toBe(0);
    const away = connect(identity, { managedIdentityToken: () => Promise.reject(new Error("away")) });
    expect(await kindOf(ask(away))).toBe("unreachable");
  });
});

describe("responses of Graph in some tenants", () => {
  const publicKey = {
    rp: { id: "login.microsoft.com" },
    user: { id: "a+/=", name: "jan" },
    challenge: "c+h/ == ".trim().replaceAll(" ", ""),
    pubKeyCredParams: [{ type: "public-key", alg: "-7" }],
    excludeCredentials: [{ id: "AAAAAA2", type: "public-key", transports: [] }, { id: "AAAAAA==" }, { id: "AAAAAA" }],
  };
  const answeringWith = async (...bodies: unknown[]) => (await answering(() => bodies.shift())).odd;

  test("are read with and without value around them, in every spelling of binary values", async () => {
    const odd = await answeringWith({ publicKey }, { value: { publicKey } });
    const asked = tools.now();
    for (const challenge of [await ask(odd), await ask(odd)]) {
      expect(challenge.options).toEqual({
        rp: { id: "login.microsoft.com", name: "login.microsoft.com" },
        user: { id: "a-8", name: "jan", displayName: "jan" },
        challenge: "c-h_",
        pubKeyCredParams: [{ type: "public-key", alg: -7 }],
        excludeCredentials: [1, 2, 3].map(() => ({ type: "public-key", id: "AAAAAA" })),
      });
      expect(challenge.origin).toBe("https://login.microsoft.com");
      // Without an end in the response, the requested one counts.
      expect(challenge.expiresAt?.getTime()).toBe(Date.parse(asked) + 20_160 * 60_000);
    }
  });

  test.each([
    [Buffer.alloc(32, 7).toString("base64url"), "unanswered"],
    ["6f1c1a52-2f7e-4f0d-8a57-0c3f3f0f9d11", "accepted"],
  ])("to a registration, with %s instead of the credential id, are %s", async (id, outcome) => {
    const activation = (await answeringWith({ id })).activate({ userId: user }, answerTo(await ask()), "k", { signal });
    expect(
      await activation.then(
        () => "accepted",
        ({ kind }) => kind,
      ),
    ).toBe(outcome);
  });

  test("are unanswered without options, and refused with unusable ones, which a repetition does not heal", async () => {
    const asked = (...bodies: unknown[]) => answeringWith(...bodies).then(odd => failureOf(ask(odd)));
    expect(await asked({}, {}, {})).toMatchObject({ kind: "unanswered" });
    for (const [body, detail] of [
      [{ publicKey: { ...publicKey, challenge: "" } }, "challenge must be base64url"],
      [
        { value: { publicKey: { ...publicKey, user: {} } } },
        "user.id is missing or cannot be read; user.name is missing or cannot be read",
      ],
      [{ publicKey, challengeTimeoutDateTime: "soon" }, "challengeTimeoutDateTime is not readable"],
      [
        { publicKey: { ...publicKey, rp: { id: "https://login.microsoft.com" } } },
        expect.stringMatching(/^rp.id must be a domain/),
      ],
    ] as const)
      expect(await asked(body)).toMatchObject({ kind: "refused", code: "unusable_options", detail });
  });

  test("have the expiry that Graph grants, beside the one that was asked for", async () => {
    entra.settings({ grantedMinutes: 60 });
    const { expiresAt, askedExpiry } = await ask();
    expect(Math.abs((expiresAt?.getTime() ?? 0) - Date.now() - 3_600_000)).toBeLessThan(60_000);
    expect(Math.abs((askedExpiry?.getTime() ?? 0) - Date.now() - 14 * 86_400_000)).toBeLessThan(60_000);
  });

  test("are not accepted if they are too long, without taking long", async () => {
    const slow = "=".repeat(160 * 1024);
    const cpuMs = measureCpu();
    for (const [changes, kind] of [
      [{ challenge: `${slow}c` }, "refused"],
      [{ excludeCredentials: [{ id: `${slow}c` }] }, "refused"],
      [{ user: { id: `${slow}c`, name: "jan" } }, "refused"],
      [{ more: "a".repeat(256 * 1024) }, "unanswered"],
    ] as const) {
      const odd = await answeringWith(...Array(3).fill({ publicKey: { ...publicKey, ...changes } }));
      expect(await kindOf(ask(odd))).toBe(kind);
    }
    expect(cpuMs()).toBeLessThan(5000);
  });

  test("contain a long list of keys, which is read to its end and from Graph only", async () => {
    let elsewhere = false;
    const { odd: paged, calls: asked } = await answering(({ query, url }) => {
      const page = Number(query.get("page"));
      const next = elsewhere ? "https://elsewhere.example/beta/more" : `${url.origin}/beta/more?page=${page + 1}`;
      const value = page === 2 ? [{ id: "aWQ=" }] : [{ id: "b3RoZXI" }];
      return { value, ...(page === 3 ? {} : { "@odata.nextLink": next }) };
    });
    expect(await paged.isRegistered?.({ userId: user }, queryFor("aWQ"), signal)).toBe(true);
    expect(asked).toHaveLength(3);
    expect(await paged.isRegistered?.({ userId: user }, queryFor("bm9uZQ"), signal)).toBe(false);
    const before = asked.length;
    await paged.revoke({ userId: randomUUID() }, { credentialId: "bm9uZQ" }, signal);
    expect(asked).toHaveLength(before + 4);
    elsewhere = true;
    expect(await kindOf(paged.isRegistered?.({ userId: user }, queryFor("bm9uZQ"), signal))).toBe("unanswered");
    expect(await kindOf(paged.revoke({ userId: user }, { credentialId: "bm9uZQ" }, signal))).toBe("unanswered");
  });
});
