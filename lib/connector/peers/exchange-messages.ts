import { CompactEncrypt, calculateJwkThumbprint, exportJWK, generateKeyPair } from "jose";
import * as z from "zod";
import type { Attestation, Challenge } from "../model/webauthn.ts";
import {
  contentAlgorithm,
  type FindSigningKey,
  keyAlgorithm,
  openEnvelope,
  type PrivateKey,
} from "./exchange-envelope.ts";
import type { PublicKey } from "./jwks.ts";

const keyPair = z.lazy(() =>
  z.object({
    kty: z.literal("EC"),
    crv: z.literal("P-384"),
    x: z.string(),
    y: z.string(),
    d: z.string(),
  }),
);

/** Creates a key pair for one response. Its id is its thumbprint (RFC 7638). The private key is stored sealed only. */
export async function makeResponseKey(): Promise<{ readonly publicJwk: PublicKey; readonly privateJwk: PrivateKey }> {
  const { privateKey } = await generateKeyPair(keyAlgorithm, { crv: "P-384", extractable: true });
  const { d, ...point } = keyPair.parse(await exportJWK(privateKey));
  const publicJwk = { ...point, kid: await calculateJwkThumbprint(point) };
  return { publicJwk, privateJwk: { ...publicJwk, d } };
}

/** What is encrypted for the party that programs a security key. */
export interface KeyRequests {
  readonly pinRequest?: string;
  readonly credentialRequests: readonly string[];
}

/** The encrypted requests of each security key by its id. */
export type EncryptedRequests = ReadonlyMap<string, KeyRequests>;

/** Where a request goes, and where its response goes. */
interface Route {
  /** The key maker's keys, to one of which the request is encrypted. */
  readonly transportKeys: readonly PublicKey[];
  /** A key that is used for this request only. */
  readonly responseKey: PublicKey;
  readonly random: (bytes: number) => Uint8Array;
}

/** Returns an encrypted request for one credential to the key maker (docs/peers/exchange-format.md). */
export const encodeCredentialRequest = async (
  { options, origin }: Pick<Challenge, "options" | "origin">,
  route: Route,
): Promise<string> => encodeRequest({ type: "credential_request", origin, public_key: options }, route);

/**
 * Returns an encrypted request for one PIN to the key maker (docs/peers/exchange-format.md).
 * @param length the number of characters. A security key may require more (C10)
 */
export const encodePinRequest = async (length: number, route: Route): Promise<string> =>
  encodeRequest({ type: "pin_request", pin: { type: "generate", length } }, route);

/** Returns a compact JWE, encrypted to one of the transport keys, which is chosen at random. */
function encodeRequest(content: object, { transportKeys, responseKey, random }: Route): Promise<string> {
  const { kty, crv, x, y, kid } = responseKey;
  const response_key = { kty, crv, x, y, kid, use: "enc", alg: keyAlgorithm };
  const key = transportKeys[Buffer.from(random(4)).readUInt32BE() % transportKeys.length];
  if (key === undefined) throw new RangeError("There is no transport key.");
  return new CompactEncrypt(Buffer.from(JSON.stringify({ v: 1, ...content, response_key })))
    .setProtectedHeader({ alg: keyAlgorithm, enc: contentAlgorithm, kid: key.kid })
    .encrypt(key);
}

/**
 * Returns the credential in a response of the key maker. It is not known to belong to the request before {@link
 * bindResponse}.
 * @throws ExchangeError, or the error of `findSigningKey`
 */
export async function decodeCredentialResponse(
  jwe: string,
  privateJwk: PrivateKey,
  findSigningKey: FindSigningKey,
): Promise<Attestation> {
  const { id, response, client_extension_results } = await openEnvelope(
    jwe,
    privateJwk,
    findSigningKey,
    credentialResponse,
  );
  return {
    credentialId: id,
    clientDataJson: response.clientDataJSON,
    attestationObject: response.attestationObject,
    clientExtensionResults: client_extension_results,
  };
}

/**
 * Returns the PIN in a response of the key maker: 4 to 63 characters on one line. It must not be stored or logged
 * (C14).
 * @throws ExchangeError, or the error of `findSigningKey`
 */
export async function decodePinResponse(
  jwe: string,
  privateJwk: PrivateKey,
  findSigningKey: FindSigningKey,
): Promise<string> {
  return (await openEnvelope(jwe, privateJwk, findSigningKey, pinResponse)).pin;
}

const base64url = z
  .string()
  .regex(/^(?:[A-Za-z0-9_-]{4})*(?:[A-Za-z0-9_-]{2,3})?$/)
  .min(2);

const credentialResponse = z.lazy(() =>
  z.object({
    v: z.literal(1),
    type: z.literal("credential_response"),
    // At most 1,023 bytes (WebAuthn Level 3 section 4).
    id: base64url.max(1364),
    response: z.object({ clientDataJSON: base64url, attestationObject: base64url }),
    client_extension_results: z.record(z.string(), z.unknown()).default({}),
  }),
);

const pinResponse = z.lazy(() =>
  z.object({
    v: z.literal(1),
    type: z.literal("pin_response"),
    pin: z.string().regex(/^[^\p{C}\p{Zl}\p{Zp}]{4,63}$/u),
  }),
);
