import type { Wanted } from "../idp/contract.ts";
import type { Credential } from "../model/request.ts";
import type { Challenge } from "../model/webauthn.ts";

/** The key of a credential in `Challenges` and in `Asked.lost`. */
export const credentialSlot = (keyId: string, index: number) => `${keyId} ${index}`;

/** What the IdPs answered, by key id and the credential's index. */
export type Challenges = ReadonlyMap<string, Challenge>;

/** What asking the IdPs has left there. */
export interface Asked {
  readonly challenges: Challenges;
  /** Credentials whose call was not answered, as the keys of `challenges`. */
  readonly lost: ReadonlySet<string>;
}

/** Whether the answer to a credential's call was lost. */
export const isLost = ({ lost }: Asked, keyId: string, index: number): boolean =>
  lost.has(credentialSlot(keyId, index));

/** The tag is the credential's place in our storage, so that it is the same whenever what was begun is looked for. */
export const wantedOf = (
  requestId: string,
  keyId: string,
  index: number,
  { userId, relyingPartyId }: Credential,
): Wanted => ({
  userId,
  ...(relyingPartyId && { relyingPartyId }),
  tag: `${requestId}.${keyId}.${index + 1}`,
});
