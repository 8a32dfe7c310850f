import { calculateJwkThumbprint, exportJWK, generateKeyPair } from "jose";
import * as z from "zod";
import type { PublicKey } from "../http/jwks.ts";
import type { Attestation, CreationOptions } from "../model/webauthn.ts";
import { encryptEnvelope, type FindSigningKey, keyAlgorithm, openEnvelope, type PrivateKey } from "./envelope.ts";

/** Asks the key maker for one credential. */
export interface CredentialOrder {
  readonly options: CreationOptions;
  readonly origin: string;
  /** Made for this request alone. */
  readonly responseKey: PublicKey;
}

/** Asks the key maker for one PIN. */
export interface PinOrder {
  /** Characters; a key may insist on more (decision C10). */
  readonly length: number;
  readonly responseKey: PublicKey;
}

/** A key pair for one response. */
export interface ResponseKey {
  readonly publicJwk: PublicKey;
  /** To be kept sealed (decision G8). */
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

/** Makes a key pair; its id is the RFC 7638 thumbprint. */
export async function makeResponseKey(): Promise<ResponseKey> {
  const { privateKey } = await generateKeyPair(keyAlgorithm, { crv: "P-384", extractable: true });
  const { d, ...point } = keyPair.parse(await exportJWK(privateKey));
  const publicJwk = { ...point, kid: await calculateJwkThumbprint(point) };
  return { publicJwk, privateJwk: { ...publicJwk, d } };
}

/** @returns the compact JWE of docs/peers/exchange-format.md, to one of the transport keys (decision C11) */
export function encodeCredentialRequest(
  { options, origin, responseKey }: CredentialOrder,
  transportKeys: readonly PublicKey[],
  random: Random,
): Promise<string> {
  const asked = { v: 1, type: "credential_request", response_key: wireKey(responseKey), origin, public_key: options };
  return encryptEnvelope(asked, transportKeys, random);
}

/** @returns the compact JWE of docs/peers/exchange-format.md, to one of the transport keys (decision C11) */
export function encodePinRequest(
  { length, responseKey }: PinOrder,
  transportKeys: readonly PublicKey[],
  random: Random,
): Promise<string> {
  const asked = { v: 1, type: "pin_request", response_key: wireKey(responseKey), pin: { type: "generate", length } };
  return encryptEnvelope(asked, transportKeys, random);
}

/**
 * A credential as the key maker answered it. It is not yet bound to its request: see {@link bindResponse}.
 * @throws ExchangeError, and whatever `findSigningKey` throws
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
 * A PIN as the key maker answered it: 4 to 63 characters on one line. Never to be kept or logged (decision C14).
 * @throws ExchangeError, and whatever `findSigningKey` throws
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

const credentialResponse = z.object({
  v: z.literal(1),
  type: z.literal("credential_response"),
  // At most 1,023 bytes (WebAuthn Level 3 section 4).
  id: base64url.max(1364),
  response: z.object({ clientDataJSON: base64url, attestationObject: base64url }),
  client_extension_results: z.record(z.string(), z.unknown()).default({}),
});

const pinResponse = z.object({
  v: z.literal(1),
  type: z.literal("pin_response"),
  pin: z.string().regex(/^[^\p{C}\p{Zl}\p{Zp}]{4,63}$/u),
});
