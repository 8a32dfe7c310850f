import { calculateJwkThumbprint, exportJWK, generateKeyPair, type JWK } from "jose";

/** The issuer's private keys, the one that signs first. */
export interface KeyRing {
  keys: JWK[];
}

export async function newSigningKey(): Promise<JWK> {
  const { privateKey } = await generateKeyPair("RS256", { extractable: true });
  const jwk = await exportJWK(privateKey);
  return { ...jwk, kid: await calculateJwkThumbprint(jwk), use: "sig", alg: "RS256" };
}

/** What the world may see of them. */
export const publicKeys = ({ keys }: KeyRing): JWK[] =>
  keys.map(({ kty, kid, use, alg, n, e }) => ({ kty, kid, use, alg, n, e }) as JWK);
