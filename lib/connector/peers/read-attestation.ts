import { decode } from "cborg";

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
