import { createRemoteJWKSet, decodeJwt, decodeProtectedHeader, jwtVerify } from "jose";
import { afterAll, beforeAll, expect, test } from "vitest";
import { startTokenIssuer, type TokenIssuer } from "../../../../local/peers/issuer/token-issuer.ts";

let issuer: TokenIssuer;

beforeAll(async () => {
  issuer = await startTokenIssuer();
});

afterAll(() => issuer.close());

const audience = "api://service";
const verify = (token: string) =>
  jwtVerify(token, createRemoteJWKSet(new URL(issuer.jwksUri)), {
    issuer: issuer.issuer,
    audience,
    algorithms: ["RS256"],
  });

test("a token has the shape of an Entra application token and verifies against the published keys", async () => {
  const { payload, protectedHeader } = await verify(await issuer.mint({ audience, roles: ["Core.Admin"] }));
  expect(protectedHeader).toMatchObject({ alg: "RS256", typ: "JWT", kid: expect.any(String) });
  expect(payload).toMatchObject({ ver: "2.0", tid: issuer.tenantId, roles: ["Core.Admin"], idtyp: "app" });
  expect(payload.sub).toBe(payload.oid);
  expect((payload.exp ?? 0) - (payload.iat ?? 0)).toBe(3600);
  expect(payload).not.toHaveProperty("scp");
});

test("a token has the requested claims", async () => {
  const token = await issuer.mint({
    audience,
    scp: "Connector.Call",
    subject: "me",
    claims: { tid: null, extra: [1] },
  });
  const { payload } = await verify(token);
  expect(payload).toMatchObject({ scp: "Connector.Call", sub: "me", oid: "me", extra: [1] });
  for (const missing of ["tid", "idtyp", "roles"]) expect(payload).not.toHaveProperty(missing);
  expect(decodeJwt(await issuer.mint({ audience, issuer: "https://elsewhere" })).iss).toBe("https://elsewhere");
});

test("an expired token, and one signed by an unknown key, by no key or by the public key, are never valid", async () => {
  const code = async (options: Partial<Parameters<TokenIssuer["mint"]>[0]>) =>
    verify(await issuer.mint({ audience, ...options })).catch((error: { code: string }) => error.code);
  expect(await code({ expiresInSeconds: -60 })).toBe("ERR_JWT_EXPIRED");
  expect(await code({ signedBy: "unknown-key" })).toBe("ERR_JWS_SIGNATURE_VERIFICATION_FAILED");
  expect(await code({ signedBy: "hmac" })).toBe("ERR_JOSE_ALG_NOT_ALLOWED");
  const unsigned = await issuer.mint({ audience, signedBy: "none" });
  expect(decodeProtectedHeader(unsigned).alg).toBe("none");
  await expect(verify(unsigned)).rejects.toThrow();
  const { kid } = decodeProtectedHeader(await issuer.mint({ audience }));
  expect(decodeProtectedHeader(await issuer.mint({ audience, signedBy: "unknown-key" })).kid).toBe(kid);
});

test("no private key is published", async () => {
  const { keys } = (await (await fetch(issuer.jwksUri)).json()) as { keys: object[] };
  for (const key of keys) expect(Object.keys(key).sort()).toEqual(["alg", "e", "kid", "kty", "n", "use"]);
});

test("tokens are minted over HTTP, and verify until the second rotation of the keys", async () => {
  const post = async (path: string, body: object = {}) =>
    (await fetch(`${issuer.url}/_control/${path}`, { method: "POST", body: JSON.stringify(body) })).text();
  const mint = async () => JSON.parse(await post("tokens", { audience, roles: ["Connector.Call"] })).token as string;
  const old = await mint();
  await post("rotate");
  const young = await mint();
  expect(decodeProtectedHeader(young).kid).not.toBe(decodeProtectedHeader(old).kid);
  expect((await verify(old)).payload.roles).toEqual(["Connector.Call"]);
  await post("rotate");
  await expect(verify(old)).rejects.toMatchObject({ code: "ERR_JWKS_NO_MATCHING_KEY" });
  await verify(young);
});
