import { calculateJwkThumbprint, exportJWK, generateKeyPair } from "jose";
import * as z from "zod";
import type { Attestation, CreationOptions } from "../model/webauthn.ts";
import {
  encryptEnvelope,
  type FindSigningKey,
  keyAlgorithm,
  openEnvelope,
  type PrivateKey,
} from "./exchange-envelope.ts";
import type { PublicKey } from "./jwks.ts";

/** A request for one credential to the key maker. */
interface CredentialOrder {
  readonly options: CreationOptions;
  readonly origin: string;
  /** A key that is used for this request only. */
  readonly responseKey: PublicKey;
}

/** A request for one PIN to the key maker. */
interface PinOrder {
  /** The number of characters. A security key may require more (C10). */
  readonly length: number;
  readonly responseKey: PublicKey;
}

/** A key pair for one response. */
export interface ResponseKey {
  readonly publicJwk: PublicKey;
  /** Stored sealed only. */
  readonly privateJwk: PrivateKey;
}

type Random = (bytes: number) => Uint8Array;

const keyPair = z.object({
  kty: z.literal("EC"),
  crv: z.literal("P-384"),
  x: z.string(),
  y: z.string(),
  d: z.string(),
});

/** Creates a key pair. Its id is its thumbprint (RFC 7638). */
export async function makeResponseKey(): Promise<ResponseKey> {
  const { privateKey } = await generateKeyPair(keyAlgorithm, { crv: "P-384", extractable: true });
  const { d, ...point } = keyPair.parse(await exportJWK(privateKey));
  const publicJwk = { ...point, kid: await calculateJwkThumbprint(point) };
  return { publicJwk, privateJwk: { ...publicJwk, d } };
}

/** Returns a credential request, encrypted to one of the transport keys (docs/peers/exchange-format.md). */
export function encodeCredentialRequest(
  { options, origin, responseKey }: CredentialOrder,
  transportKeys: readonly PublicKey[],
  random: Random,
): Promise<string> {
  const payload = { v: 1, type: "credential_request", response_key: wireKey(responseKey), origin, public_key: options };
  return encryptEnvelope(payload, transportKeys, random);
}

/** Returns a PIN request, encrypted to one of the transport keys (docs/peers/exchange-format.md). */
export function encodePinRequest(
  { length, responseKey }: PinOrder,
  transportKeys: readonly PublicKey[],
  random: Random,
): Promise<string> {
  const payload = { v: 1, type: "pin_request", response_key: wireKey(responseKey), pin: { type: "generate", length } };
  return encryptEnvelope(payload, transportKeys, random);
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

const wireKey = ({ kty, crv, x, y, kid }: PublicKey) => ({ kty, crv, x, y, kid, use: "enc", alg: keyAlgorithm });

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

const pinResponse = z.object({
  v: z.literal(1),
  type: z.literal("pin_response"),
  pin: z.string().regex(/^[^\p{C}\p{Zl}\p{Zp}]{4,63}$/u),
});
