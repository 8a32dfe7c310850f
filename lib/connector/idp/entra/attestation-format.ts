import { decode } from "cborg";
import { PeerFailure } from "../../../peers/peer-failure.ts";

/** The attestation statement formats that Microsoft Graph documents for keys that an administrator registers. */
const accepted: readonly string[] = ["packed", "none"];

/** Returns a function that throws the error of a registration; a refusal with the attestation's format, if Graph does not document it. */
export const withAttestationFormat =
  (attestationObject: string) =>
  (error: unknown): never => {
    const format = formatOf(attestationObject);
    if (!(error instanceof PeerFailure) || error.kind !== "refused") throw error;
    if (format === undefined || accepted.includes(format)) throw error;
    const { peer, operation, kind, status, code, detail = "", peerRequestId } = error;
    const note = `The attestation has the format ${format}; Microsoft Graph accepts packed and none.`;
    const details = { status, code, detail: `${detail} ${note}`.trim(), peerRequestId, cause: error };
    throw new PeerFailure(peer, operation, kind, details);
  };

function formatOf(attestationObject: string): string | undefined {
  try {
    const object: unknown = decode(Buffer.from(attestationObject, "base64url"), { useMaps: true });
    const format: unknown = object instanceof Map ? object.get("fmt") : undefined;
    return typeof format === "string" ? format : undefined;
  } catch {
    return undefined;
  }
}
