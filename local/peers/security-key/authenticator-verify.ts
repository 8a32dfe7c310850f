import {
  type RegistrationResponseJSON,
  SettingsService,
  type VerifiedRegistrationResponse,
  verifyRegistrationResponse,
} from "@simplewebauthn/server";
import { decodeAttestationObject } from "@simplewebauthn/server/helpers";

export interface AttestationCheck {
  readonly id: string;
  readonly clientDataJSON: string;
  readonly attestationObject: string;
  /** base64url */
  readonly challenge: string;
  readonly origin: string;
  readonly rpId: string;
  /** PEM of the root at which the chain must end. */
  readonly root: string;
}

export type RegisteredCredential = NonNullable<VerifiedRegistrationResponse["registrationInfo"]>;

/** Certificate chains that ended at their root, with it. Checking a chain takes most of the time of a verification. */
const trustedChains = new Set<string>();

// The verifier's trust anchors are global in the process, so checks with different roots must not overlap.
let last: Promise<unknown> = Promise.resolve();

/** Verifies a new credential as a relying party that enforces attestation. Rejects with the reason. */
export function verifyAttestation(check: AttestationCheck): Promise<RegisteredCredential> {
  const verified = last.then(() => verify(check));
  last = verified.catch(() => {});
  return verified;
}

async function verify({ id, clientDataJSON, attestationObject, challenge, origin, rpId, root }: AttestationCheck) {
  const statement = decodeAttestationObject(Buffer.from(attestationObject, "base64url"));
  // Without certificates the verifier would not check a chain.
  const certificates = statement.get("attStmt").get("x5c");
  if (statement.get("fmt") !== "packed" || certificates === undefined)
    throw new Error("only packed attestation with a certificate is accepted");
  const chain = [root, ...certificates.map(bytes => Buffer.from(bytes).toString("base64"))].join("\n");
  const response: RegistrationResponseJSON = {
    id,
    rawId: id,
    type: "public-key",
    response: { clientDataJSON, attestationObject },
    clientExtensionResults: {},
  };
  // Without a root the verifier skips the chain.
  const roots = trustedChains.has(chain) ? [] : [root];
  SettingsService.setRootCertificates({ identifier: "packed", certificates: roots });
  const { verified, registrationInfo } = await verifyRegistrationResponse({
    response,
    expectedChallenge: challenge,
    expectedOrigin: origin,
    expectedRPID: rpId,
    requireUserVerification: true,
  });
  if (!verified || registrationInfo === undefined) throw new Error("the attestation's signature is wrong");
  trustedChains.add(chain);
  if (registrationInfo.credential.id !== id) throw new Error("the id is not the credential's");
  return registrationInfo;
}
