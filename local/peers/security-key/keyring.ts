import { randomInt, randomUUID } from "node:crypto";
import { exportJWK, generateKeyPair, type JWK } from "jose";

/** A private key of the delivery service. Retired ones still open what was encrypted to them and verify what they signed. */
interface ServiceKey {
  readonly jwk: JWK;
  retired: boolean;
}

/** JSON, kept with the service's state. */
export interface Keyring {
  transport: ServiceKey[];
  sign: ServiceKey[];
}

export const emptyKeyring: Keyring = { transport: [], sign: [] };

/**
 * Makes new keys in place, two a use, so that nothing works by taking the first. The old ones are retired, or with `forget`
 * gone: requests encrypted to them are refused then, and their signatures cannot be checked any more.
 */
export async function rotate(ring: Keyring, { forget = false } = {}): Promise<void> {
  const [transport, sign] = await Promise.all([twoKeys("ECDH-ES+A256KW", "enc"), twoKeys("ES384", "sig")]);
  const kept = (keys: ServiceKey[]) => (forget ? [] : keys.map(key => ({ ...key, retired: true })));
  ring.transport = [...transport, ...kept(ring.transport)];
  ring.sign = [...sign, ...kept(ring.sign)];
}

/** What requests can be opened with. */
export const openingKeys = (ring: Keyring): readonly JWK[] => ring.transport.map(({ jwk }) => jwk);

/** Any of the current signing keys: readers have to go by `kid`. */
export function signingKey(ring: Keyring): JWK {
  const current = ring.sign.filter(({ retired }) => !retired);
  const key = current[randomInt(current.length)];
  if (key === undefined) throw new Error("there is no signing key");
  return key.jwk;
}

export const transportJwks = (ring: Keyring) => jwks(ring.transport.filter(({ retired }) => !retired));
/** Retired keys stay listed: what they signed is still on its way. */
export const signJwks = (ring: Keyring) => jwks(ring.sign);

/** A new P-384 key pair as private JWK. */
export async function newKey(alg: "ECDH-ES+A256KW" | "ES384", use: "enc" | "sig"): Promise<JWK> {
  const { privateKey } = await generateKeyPair(alg, { crv: "P-384", extractable: true });
  return { ...(await exportJWK(privateKey)), kid: `${use}-${randomUUID()}`, use };
}

const twoKeys = async (alg: "ECDH-ES+A256KW" | "ES384", use: "enc" | "sig"): Promise<ServiceKey[]> =>
  (await Promise.all([newKey(alg, use), newKey(alg, use)])).map(jwk => ({ jwk, retired: false }));

/** The members that the service publishes, no `alg` among them. */
export const publicHalf = ({ kty, crv, x, y, kid, use }: JWK) => ({ kty, crv, x, y, kid, use }) as JWK;

const jwks = (keys: readonly ServiceKey[]) => ({ keys: keys.map(({ jwk }) => publicHalf(jwk)) });
