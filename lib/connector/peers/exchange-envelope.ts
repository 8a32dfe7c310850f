import { compactDecrypt, compactVerify, decodeProtectedHeader } from "jose";
import * as z from "zod";
import type { PublicKey } from "./jwks.ts";

/**
 * Why a response could not be read:
 * - `undecryptable`: it is not encrypted to this key
 * - `unknown_key`: it is signed by a key that is not in the signing JWKS, at least not yet
 * - `bad_signature`: its signature is wrong
 * - `malformed`: it has another structure, or a header that is not allowed
 */
type ExchangeReason = "undecryptable" | "unknown_key" | "bad_signature" | "malformed";

/** Thrown for a response that cannot be trusted. The message contains nothing of the response. */
export class ExchangeError extends Error {
  override readonly name = "ExchangeError";
  readonly reason: ExchangeReason;

  constructor(reason: ExchangeReason) {
    super(`Exchange format: ${reason}`);
    this.reason = reason;
  }
}

/** A private key of the exchange format. It is stored sealed only (G8). */
export interface PrivateKey extends PublicKey {
  readonly d: string;
}

/** Returns a signing key by its id. Reads the signing JWKS again for an unknown id. */
export type FindSigningKey = (kid: string) => Promise<PublicKey | undefined>;

export const keyAlgorithm = "ECDH-ES+A256KW";
export const contentAlgorithm = "A256GCM";
const signatureAlgorithm = "ES384";
const openedAlgorithms = [keyAlgorithm, "ECDH-ES"] as const;

// Lists the allowed members, so that jku, jwk, x5u, x5c, zip, crit and unknown ones are rejected.
const anyHeader = () => ({ typ: z.string().optional(), cty: z.string().optional() });
const jweHeader = z.lazy(() =>
  z.strictObject({
    ...anyHeader(),
    alg: z.enum(openedAlgorithms),
    enc: z.literal(contentAlgorithm),
    kid: z.string().optional(),
    epk: z.object({}),
    apu: z.string().optional(),
    apv: z.string().optional(),
  }),
);
const jwsHeader = z.lazy(() => z.strictObject({ ...anyHeader(), alg: z.literal(signatureAlgorithm), kid: z.string() }));

/**
 * Decrypts a compact JWE and verifies the compact JWS in it.
 * @throws ExchangeError, or the error of `findSigningKey`
 */
export async function openEnvelope<T>(
  jwe: string,
  privateJwk: PrivateKey,
  findSigningKey: FindSigningKey,
  payload: z.ZodType<T>,
): Promise<T> {
  headerOf(jwe, jweHeader);
  const opened = await decrypt(jwe, privateJwk).catch(() => refused("undecryptable"));
  const jws = new TextDecoder().decode(opened.plaintext);
  const key = (await findSigningKey(headerOf(jws, jwsHeader).kid)) ?? refused("unknown_key");
  const verified = await compactVerify(jws, key, { algorithms: [signatureAlgorithm] }).catch(() =>
    refused("bad_signature"),
  );
  return orMalformed(() => payload.parse(JSON.parse(new TextDecoder().decode(verified.payload))));
}

/** Returns the `kid` that a compact JWE names; undefined without one, or if its header is not allowed. */
export function recipientKid(jwe: string): string | undefined {
  try {
    return headerOf(jwe, jweHeader).kid;
  } catch {
    return undefined;
  }
}

/** Whether a compact JWE decrypts with the key. Does not verify the JWS in it. */
export const decryptsWith = (jwe: string, privateJwk: PrivateKey): Promise<boolean> =>
  decrypt(jwe, privateJwk).then(
    () => true,
    () => false,
  );

const decrypt = (jwe: string, privateJwk: PrivateKey) =>
  compactDecrypt(jwe, privateJwk, {
    keyManagementAlgorithms: [...openedAlgorithms],
    contentEncryptionAlgorithms: [contentAlgorithm],
  });

const headerOf = <T>(token: string, allowed: z.ZodType<T>): T =>
  orMalformed(() => allowed.parse(decodeProtectedHeader(token)));

function orMalformed<T>(read: () => T): T {
  try {
    return read();
  } catch {
    return refused("malformed");
  }
}

function refused(reason: ExchangeReason): never {
  throw new ExchangeError(reason);
}
