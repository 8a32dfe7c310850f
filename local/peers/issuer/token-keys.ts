import { calculateJwkThumbprint, exportJWK, generateKeyPair, type JWK } from "jose";

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
