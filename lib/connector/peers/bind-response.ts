import { createHash } from "node:crypto";
import { decode } from "cborg";
import * as z from "zod";
import type { Credential } from "../model/credential.ts";
import type { Attestation, Challenge } from "../model/webauthn.ts";

/** The first property of a response that does not match its request. */
type Mismatch =
  | "unreadable"
  | "type"
  | "challenge"
  | "origin"
  | "relying_party"
  | "user_presence"
  | "user_verification"
  | "credential_id";

/** Returns the values by which the response to a challenge is recognised. */
export const bindingOf = ({ options, origin }: Challenge): NonNullable<Credential["binding"]> => ({
  challengeHash: sha256(Buffer.from(options.challenge, "base64url")).toString("base64url"),
  origin,
  relyingPartyId: options.rp.id,
  userVerification: options.authenticatorSelection?.userVerification === "required",
});

/**
 * Checks whether a response belongs to its request (docs/peers/exchange-format.md), so that a credential of one user
 * cannot be registered for another user. The attestation is verified by the IdP.
 * @returns undefined if the response belongs to the request
 */
export function bindResponse(
  attestation: Attestation,
  expected: NonNullable<Credential["binding"]>,
): Mismatch | undefined {
  const client = clientData(attestation.clientDataJson);
  const data = authenticatorData(attestation.attestationObject);
  if (client === undefined || data === undefined) return "unreadable";
  if (client.type !== "webauthn.create") return "type";
  const challengeHash = sha256(Buffer.from(client.challenge, "base64url")).toString("base64url");
  if (challengeHash !== expected.challengeHash) return "challenge";
  if (client.origin !== expected.origin) return "origin";
  if (!data.relyingPartyHash.equals(sha256(Buffer.from(expected.relyingPartyId)))) return "relying_party";
  if (!data.userPresent) return "user_presence";
  if (expected.userVerification && !data.userVerified) return "user_verification";
  return data.credentialId.toString("base64url") === attestation.credentialId ? undefined : "credential_id";
}

/**
 * Returns the model of the authenticator that made a credential, as a UUID. Undefined if the response cannot be read,
 * or if the authenticator does not disclose its model: then the AAGUID is zero.
 */
export function aaguidOf({ attestationObject }: Pick<Attestation, "attestationObject">): string | undefined {
  const hex = authenticatorData(attestationObject)?.aaguid.toString("hex") ?? "";
  const aaguid = hex.replace(/^(.{8})(.{4})(.{4})(.{4})(.{12})$/, "$1-$2-$3-$4-$5");
  return /[1-9a-f]/.test(aaguid) ? aaguid : undefined;
}

const collectedClientData = z.lazy(() => z.object({ type: z.string(), challenge: z.string(), origin: z.string() }));

function clientData(base64url: string): z.infer<typeof collectedClientData> | undefined {
  try {
    const text = new TextDecoder("utf-8", { fatal: true }).decode(Buffer.from(base64url, "base64url"));
    return collectedClientData.parse(JSON.parse(text));
  } catch {
    return undefined;
  }
}

/** Authenticator data: hash 32, flags 1, counter 4, AAGUID 16, length 2, id, public key (WebAuthn Level 3, 6.1). */
const flagsAt = 32;
const aaguidAt = 37;
const lengthAt = 53;
const credentialIdAt = 55;
const present = 0x01;
const verified = 0x04;
const withCredential = 0x40;

function authenticatorData(base64url: string) {
  const data = readAttestation(base64url)?.authData;
  if (data === undefined || data.length <= credentialIdAt) return undefined;
  const flags = data.readUInt8(flagsAt);
  const length = data.readUInt16BE(lengthAt);
  if ((flags & withCredential) === 0 || length === 0 || data.length <= credentialIdAt + length) return undefined;
  return {
    relyingPartyHash: data.subarray(0, flagsAt),
    userPresent: (flags & present) !== 0,
    userVerified: (flags & verified) !== 0,
    aaguid: data.subarray(aaguidAt, lengthAt),
    credentialId: data.subarray(credentialIdAt, credentialIdAt + length),
  };
}

const sha256 = (bytes: Uint8Array): Buffer => createHash("sha256").update(bytes).digest();

/** The members of an attestation object that the connector reads (WebAuthn Level 3 section 6.5). */
interface AttestationObject {
  readonly format: string | undefined;
  readonly authData: Buffer | undefined;
}

/** Reads an attestation object, base64url. Returns undefined if it is no CBOR map. */
export function readAttestation(base64url: string): AttestationObject | undefined {
  try {
    const bytes = Buffer.from(base64url, "base64url");
    const object: unknown = decode(bytes, { useMaps: true, rejectDuplicateMapKeys: true });
    if (!(object instanceof Map)) return undefined;
    const format: unknown = object.get("fmt");
    const authData: unknown = object.get("authData");
    return {
      format: typeof format === "string" ? format : undefined,
      authData: authData instanceof Uint8Array ? Buffer.from(authData) : undefined,
    };
  } catch {
    return undefined;
  }
}
