import { PeerFailure } from "../../../platform/peers/peer-failure.ts";
import { readAttestation } from "../../peers/read-attestation.ts";

/** The attestation statement formats that Microsoft Graph documents for keys that an administrator registers. */
const accepted: readonly string[] = ["packed", "none"];

/** Returns a handler of a refused registration, which names an attestation format that Graph does not document. */
export const withAttestationFormat =
  (attestationObject: string) =>
  (error: unknown): never => {
    const format = readAttestation(attestationObject)?.format;
    if (!(error instanceof PeerFailure) || error.kind !== "refused") throw error;
    if (format === undefined || accepted.includes(format)) throw error;
    const note = `The attestation has the format ${format}; Microsoft Graph accepts packed and none.`;
    throw error.as("refused", { detail: `${error.detail ?? ""} ${note}`.trim() });
  };
