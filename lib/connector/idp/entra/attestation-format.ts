import { decode } from "cborg";
import { PeerFailure } from "../../../peers/peer-failure.ts";

/** The attestation statement formats that Microsoft Graph documents for keys that an administrator registers. */
const accepted: readonly unknown[] = ["packed", "none"];

/** Adds to a refused registration that the attestation has a format of which Graph's documentation does not speak. */
export const withAttestationFormat =
  (attestationObject: string) =>
  (error: unknown): never => {
    const format = formatOf(attestationObject);
    if (!(error instanceof PeerFailure) || error.kind !== "refused" || accepted.includes(format)) throw error;
    const { peer, operation, kind, status, code, detail = "", peerRequestId } = error;
    const note = `The attestation has the format ${format}; Microsoft Graph accepts packed and none.`;
    const details = { status, code, detail: `${detail} ${note}`.trim(), peerRequestId, cause: error };
    throw new PeerFailure(peer, operation, kind, details);
  };

function formatOf(attestationObject: string): unknown {
  try {
    const object: unknown = decode(Buffer.from(attestationObject, "base64url"), { useMaps: true });
    return object instanceof Map ? object.get("fmt") : undefined;
  } catch {
    return undefined;
  }
}
