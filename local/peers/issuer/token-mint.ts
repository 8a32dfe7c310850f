import { randomUUID } from "node:crypto";
import {
  calculateJwkThumbprint,
  exportJWK,
  generateKeyPair,
  importJWK,
  type JWK,
  type JWTPayload,
  SignJWT,
  UnsecuredJWT,
} from "jose";
import * as z from "zod";

/** Private keys of the issuer; the first one signs. */
export interface KeyRing {
  keys: JWK[];
}

export async function newSigningKey(): Promise<JWK> {
  const { privateKey } = await generateKeyPair("RS256", { extractable: true });
  const jwk = await exportJWK(privateKey);
  return { ...jwk, kid: await calculateJwkThumbprint(jwk), use: "sig", alg: "RS256" };
}

/** Returns the public keys. */
export const publicKeys = ({ keys }: KeyRing): JWK[] =>
  keys.map(({ kty, kid, use, alg, n, e }) => ({ kty, kid, use, alg, n, e }) as JWK);

export const mintOptions = z.strictObject({
  audience: z.union([z.string(), z.array(z.string())]),
  /** App roles: `roles` of an application's token. */
  roles: z.array(z.string()).optional(),
  /** Scopes, separated by spaces: `scp` of a user's token. */
  scp: z.string().optional(),
  /** `sub` and `oid`. */
  subject: z.string().default("3b9f6f0e-1d2c-4b3a-8c7d-6e5f4a3b2c1d"),
  /** The client that requested the token. */
  azp: z.string().default("c0ffee00-1234-4abc-9def-0123456789ab"),
  /** 0 or less: the token has expired. */
  expiresInSeconds: z.int().default(3600),
  issuer: z.string().optional(),
  /**
   * Who signs: the issuer; `unknown-key`, another key that claims the issuer's key id; `none`, with `alg` `none` and no signature; or `hmac`, with the
   * public key as shared secret.
   */
  signedBy: z.enum(["issuer", "unknown-key", "none", "hmac"]).default("issuer"),
  /** Claims that replace the others; null removes a claim. */
  claims: z.record(z.string(), z.unknown()).default({}),
});

export type Mint = z.input<typeof mintOptions>;

/** Returns a token in the form that Entra's v2.0 endpoint issues to applications. Throws if the options are invalid. */
export async function mintToken(
  options: Mint,
  { keys, issuer, tenantId }: { readonly keys: KeyRing; readonly issuer: string; readonly tenantId: string },
): Promise<string> {
  const asked = mintOptions.parse(options);
  const now = Math.floor(Date.now() / 1000);
  const expires = now + asked.expiresInSeconds;
  const issued = Math.min(now, expires - 3600);
  const claims: JWTPayload = {
    aud: asked.audience,
    iss: asked.issuer ?? issuer,
    iat: issued,
    nbf: issued,
    exp: expires,
    azp: asked.azp,
    azpacr: "1",
    ...(asked.scp === undefined ? { idtyp: "app" } : { scp: asked.scp }),
    oid: asked.subject,
    ...(asked.roles === undefined ? {} : { roles: asked.roles }),
    sub: asked.subject,
    tid: tenantId,
    uti: randomUUID(),
    ver: "2.0",
    ...asked.claims,
  };
  return sign(Object.fromEntries(Object.entries(claims).filter(([, value]) => value !== null)), asked.signedBy, keys);
}

let newKey: Promise<JWK> | undefined;

/** Returns a key that no issuer publishes. One for all tokens, because an RSA key takes long to create. */
function unknownKey(): Promise<JWK> {
  newKey ??= newSigningKey();
  return newKey;
}

async function sign(claims: JWTPayload, signedBy: z.output<typeof mintOptions>["signedBy"], ring: KeyRing) {
  const [key] = ring.keys;
  if (key === undefined) throw new Error("the issuer has no key");
  const header = { typ: "JWT", ...(key.kid === undefined ? {} : { kid: key.kid }) };
  const signed = new SignJWT(claims);
  switch (signedBy) {
    case "none":
      return new UnsecuredJWT(claims).encode();
    case "hmac":
      return signed
        .setProtectedHeader({ ...header, alg: "HS256" })
        .sign(new TextEncoder().encode(JSON.stringify(publicKeys(ring)[0])));
    case "unknown-key":
    case "issuer":
      return signed
        .setProtectedHeader({ ...header, alg: "RS256" })
        .sign(await importJWK(signedBy === "issuer" ? key : await unknownKey(), "RS256"));
  }
}
