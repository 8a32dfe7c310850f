import type { Idp } from "../idp/contract.ts";
import type { Credential } from "../model/security-key.ts";
import type { Challenge } from "../model/webauthn.ts";

/** Returns the map key of a credential in `Challenges` and in `IdpAnswers.unanswered`. */
export const credentialSlot = (keyId: string, index: number) => `${keyId} ${index}`;

/** The challenges of the IdPs by `credentialSlot`. */
export type Challenges = ReadonlyMap<string, Challenge>;

/** The results of asking the IdPs for creation options. */
export interface IdpAnswers {
  readonly challenges: Challenges;
  /** The slots of credentials whose call got no answer: the IdP may have started a registration for them. */
  readonly unanswered: ReadonlySet<string>;
}

/** Whether the IdP did not answer the call for a credential. */
export const isUnanswered = ({ unanswered }: IdpAnswers, keyId: string, index: number): boolean =>
  unanswered.has(credentialSlot(keyId, index));

/** Returns the options request of a credential. Its tag is computed from the credential's row, so that a later look-up finds the same. */
export const optionsRequestOf = (
  requestId: string,
  keyId: string,
  index: number,
  { userId, relyingPartyId }: Credential,
): Parameters<Idp["creationOptions"]>[0] => ({
  userId,
  ...(relyingPartyId && { relyingPartyId }),
  tag: `${requestId}.${keyId}.${index + 1}`,
});
