import { randomInt, randomUUID } from "node:crypto";
import { exportJWK, generateKeyPair, type JWK } from "jose";

/** A private key of the delivery service. A retired key still decrypts messages for it, and its signatures can be verified. */
interface ServiceKey {
  readonly jwk: JWK;
  retired: boolean;
}

/** JSON, stored with the state of the service. */
export interface Keyring {
  transport: ServiceKey[];
  sign: ServiceKey[];
}

export const emptyKeyring: Keyring = { transport: [], sign: [] };

/**
 * Creates new keys in place, two for each use, so that a client that always takes the first one fails. The old keys are retired
 * or, with `forget`, deleted: then requests for them are refused, and their signatures cannot be verified.
 */
export async function rotate(ring: Keyring, { forget = false } = {}): Promise<void> {
  const [transport, sign] = await Promise.all([twoKeys("ECDH-ES+A256KW", "enc"), twoKeys("ES384", "sig")]);
  const kept = (keys: ServiceKey[]) => (forget ? [] : keys.map(key => ({ ...key, retired: true })));
  ring.transport = [...transport, ...kept(ring.transport)];
  ring.sign = [...sign, ...kept(ring.sign)];
}

/** Returns the keys that decrypt requests. */
export const openingKeys = (ring: Keyring): readonly JWK[] => ring.transport.map(({ jwk }) => jwk);

/** Returns a random current signing key, so that readers must use `kid`. */
export function signingKey(ring: Keyring): JWK {
  const current = ring.sign.filter(({ retired }) => !retired);
  const key = current[randomInt(current.length)];
  if (key === undefined) throw new Error("there is no signing key");
  return key.jwk;
}

export const transportJwks = (ring: Keyring) => jwks(ring.transport.filter(({ retired }) => !retired));
/** Retired keys stay listed, because messages that they signed are still in transit. */
export const signJwks = (ring: Keyring) => jwks(ring.sign);

/** Returns a new P-384 key pair as a private JWK. */
export async function newKey(alg: "ECDH-ES+A256KW" | "ES384", use: "enc" | "sig"): Promise<JWK> {
  const { privateKey } = await generateKeyPair(alg, { crv: "P-384", extractable: true });
  return { ...(await exportJWK(privateKey)), kid: `${use}-${randomUUID()}`, use };
}

const twoKeys = async (alg: "ECDH-ES+A256KW" | "ES384", use: "enc" | "sig"): Promise<ServiceKey[]> =>
  (await Promise.all([newKey(alg, use), newKey(alg, use)])).map(jwk => ({ jwk, retired: false }));

/** Returns the members that the service publishes, without `alg`. */
export const publicHalf = ({ kty, crv, x, y, kid, use }: JWK) => ({ kty, crv, x, y, kid, use }) as JWK;

const jwks = (keys: readonly ServiceKey[]) => ({ keys: keys.map(({ jwk }) => publicHalf(jwk)) });
