import { createHmac } from "node:crypto";
import { exportJWK, generateKeyPair, SignJWT } from "jose";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { Fault } from "../../../../lib/platform/fault.ts";
import { createBearerCheck } from "../../../../lib/platform/http/bearer.ts";
import { createLog } from "../../../../lib/platform/log.ts";
import { instant } from "../../../../lib/platform/time.ts";
import { startTokenIssuer, type TokenIssuer } from "../../../../local/peers/issuer/token-issuer.ts";

const audience = "api://core";
const role = "Core.Admin";
const application = "an-app";
const subject = "a-user";
/** A token in whose name nothing is proven: its signature or its issuer is not the tenant's. */
const unnamed = undefined;
const named = { kind: "tenant", application, subject };
const admin = { ...named, roles: ["admin"] };

let issuer: TokenIssuer;
let signingKey: Awaited<ReturnType<typeof generateKeyPair>>["privateKey"];
let publicJwk: Record<string, unknown>;
let check: ReturnType<typeof createBearerCheck>;

beforeAll(async () => {
  issuer = await startTokenIssuer();
  const pair = await generateKeyPair("RS256", { extractable: true });
  signingKey = pair.privateKey;
  publicJwk = await exportJWK(pair.publicKey);
  const keys = [{ ...publicJwk, kid: "k", use: "sig" }];
  check = createBearerCheck({
    api: "core",
    tenant: { issuers: [v1Issuer("tenant"), v2Issuer("tenant")], audiences: [audience], jwksUrl: issuer.jwksUri },
    fetch: async () => Response.json({ keys }),
    now: () => instant(Date.now()),
    log: createLog(() => {}),
  });
});
afterAll(() => issuer.close());

const v1Issuer = (tenant: string) => `https://sts.windows.net/${tenant}/`;
const v2Issuer = (tenant: string) => `https://login.microsoftonline.com/${tenant}/v2.0`;
const inSeconds = (seconds: number) => Math.floor(Date.now() / 1000) + seconds;
const header = { alg: "RS256", kid: "k", typ: "JWT" };

/** Claims of a good token with others laid over them; undefined takes a claim away. */
const claims = (other: Readonly<Record<string, unknown>> = {}): Record<string, unknown> => ({
  iss: v2Issuer("tenant"),
  aud: audience,
  exp: inSeconds(600),
  nbf: inSeconds(-60),
  azp: application,
  oid: subject,
  roles: [role],
  ...other,
});

const signed = (other: Readonly<Record<string, unknown>> = {}, more: object = {}) =>
  new SignJWT(JSON.parse(JSON.stringify(claims(other)))).setProtectedHeader({ ...header, ...more }).sign(signingKey);

const part = (value: unknown) => Buffer.from(JSON.stringify(value)).toString("base64url");

/** A compact token whose signature is made by `sign`, with any header. */
const compact = (protectedHeader: object, sign: (input: string) => string) => {
  const input = `${part(protectedHeader)}.${part(claims())}`;
  return `${input}.${sign(input)}`;
};

type Outcome = readonly [status: 200 | 401 | 403, reason: string | undefined, caller: object | undefined];

async function outcomeOf(token: string): Promise<Outcome> {
  try {
    return [200, undefined, await check(new Headers({ authorization: `Bearer ${token}` }))];
  } catch (error) {
    if (!(error instanceof Fault)) throw error;
    return [error.kind === "forbidden" ? 403 : 401, error.reason, error.caller];
  }
}

describe("a JWT", () => {
  it.each<[string, () => Promise<string> | string, Outcome]>([
    ["of version 2 with the role", () => signed(), [200, undefined, admin]],
    [
      "of version 1, which names its application by appid",
      () => signed({ iss: v1Issuer("tenant"), azp: undefined, appid: application }),
      [200, undefined, admin],
    ],
    [
      "with the scope in place of the role",
      () => signed({ roles: undefined, scp: `a ${role}` }),
      [200, undefined, admin],
    ],
    ["with two audiences, one of them ours", () => signed({ aud: ["api://other", audience] }), [200, undefined, admin]],
    ["with another audience", () => signed({ aud: "api://other" }), [401, "wrong_audience", named]],
    ["without an audience", () => signed({ aud: undefined }), [401, "wrong_audience", unnamed]],
    ["without roles and scopes", () => signed({ roles: undefined }), [403, "no_role", named]],
    [
      "with the role as a scope of another name",
      () => signed({ roles: [], scp: `${role}.Read` }),
      [403, "no_role", named],
    ],
    ["with the role of the other API", () => signed({ roles: ["Connector.Call"] }), [403, "no_role", named]],
    ["with a longer role", () => signed({ roles: [`${role}.All`] }), [403, "no_role", named]],
    ["with the role beside others", () => signed({ roles: ["Connector.Call", role] }), [200, undefined, admin]],
    ["with roles that are a text", () => signed({ roles: role }), [403, "no_role", named]],
    ["with scopes that are a list", () => signed({ roles: [], scp: [role] }), [403, "no_role", named]],
    ["that is an ID token with a nonce", () => signed({ nonce: "n-0S6" }), [401, "id_token", named]],
    ["with an empty nonce", () => signed({ nonce: "" }), [401, "id_token", named]],
    ["that names no application", () => signed({ azp: undefined }), [401, "no_application", unnamed]],
    ["with an empty azp", () => signed({ azp: "" }), [401, "no_application", unnamed]],
    ["with an azp that is no text", () => signed({ azp: [application] }), [401, "no_application", unnamed]],
    ["with an azp too long to log", () => signed({ azp: "a".repeat(257) }), [401, "no_application", unnamed]],
    ["that has expired", () => signed({ exp: inSeconds(-1) }), [401, "expired", named]],
    ["that never expires", () => signed({ exp: undefined }), [401, "expired", unnamed]],
    ["that is not valid yet", () => signed({ nbf: inSeconds(600) }), [401, "not_yet_valid", named]],
    ["of another tenant, version 2", () => signed({ iss: v2Issuer("other") }), [401, "wrong_issuer", unnamed]],
    ["with an unknown kid", () => signed({}, { kid: "other" }), [401, "unknown_key", unnamed]],
    ["without a signature (alg none)", () => compact({ alg: "none" }, () => ""), [401, "wrong_algorithm", unnamed]],
    [
      "signed by HS256 with the public key as the secret",
      () =>
        compact({ alg: "HS256", kid: "k" }, input =>
          createHmac("sha256", JSON.stringify(publicJwk)).update(input).digest("base64url"),
        ),
      [401, "wrong_algorithm", unnamed],
    ],
    [
      "signed by an algorithm that is not on the list",
      () => compact({ ...header, alg: "RS512" }, () => "c2ln"),
      [401, "wrong_algorithm", unnamed],
    ],
    [
      "with another key's signature",
      async () => {
        const [head, , signature] = (await signed()).split(".");
        return `${head}.${part(claims({ oid: "somebody-else" }))}.${signature}`;
      },
      [401, "bad_signature", unnamed],
    ],
    [
      "with a critical extension",
      () => compact({ ...header, crit: ["exp"], exp: 1 }, () => "c2ln"),
      [401, "unsupported", unnamed],
    ],
    ["of which only dots are left", () => "..", [401, "malformed", unnamed]],
    ["that is longer than is parsed", () => signed({ groups: "g".repeat(16_384) }), [401, "too_long", unnamed]],
    ["as long as Entra makes them", () => signed({ groups: "g".repeat(8_192) }), [200, undefined, admin]],
  ])("%s", async (_, token, expected) => {
    expect(await outcomeOf(await token())).toEqual(expected);
  });

  it("is not parsed, nor is a key fetched for it, where it is too long", async () => {
    let fetched = 0;
    const counting = createBearerCheck({
      api: "core",
      tenant: { issuers: [v2Issuer("tenant")], audiences: [audience], jwksUrl: issuer.jwksUri },
      fetch: async () => {
        fetched++;
        return Response.json({ keys: [] });
      },
      now: () => instant(Date.now()),
      log: createLog(() => {}),
    });
    const headers = new Headers({ authorization: `Bearer ${await signed({ groups: "g".repeat(100_000) })}` });
    await expect(counting(headers)).rejects.toMatchObject({ reason: "too_long" });
    expect(fetched).toBe(0);
  });
});
