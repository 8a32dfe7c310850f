import { createHash } from "node:crypto";
import type { Instant } from "../../platform/time.ts";
import type { CredentialRequest, SecurityKey } from "./request.ts";
import type { RequestState } from "./states.ts";

/** A list of requests in the order of their creation: those in one state, or those that concern one person. */
export type RequestList = { readonly state: RequestState } | { readonly person: string };

/** The sort key of a request, equal in each of its lists. */
export interface ListKey {
  readonly createdAt: Instant;
  readonly requestId: string;
}

/** Returns the list key as text that sorts by creation time and is unique. */
export const positionOf = ({ createdAt, requestId }: ListKey): string => `${createdAt}_${requestId}`;

export const listKeyOf = ({ id, createdAt }: Pick<CredentialRequest, "id" | "createdAt">): ListKey => ({
  requestId: id,
  createdAt,
});

/**
 * Returns the list of the person with this e-mail address, external id or user id. The name is folded and hashed, because a row key does
 * not allow every character of an address.
 */
export const personList = (name: string): { readonly person: string } => ({
  person: createHash("sha256").update(foldName(name)).digest("base64url"),
});

export const isSameList = (a: RequestList, b: RequestList): boolean =>
  "state" in a ? "state" in b && a.state === b.state : "person" in b && a.person === b.person;

/** Returns a name of a person in the form in which names are compared. */
export const foldName = (name: string): string => name.normalize("NFC").trim().toLowerCase();

/** Returns the lists of the persons whom a request concerns: its recipient and the users of its credentials. */
export function peopleLists(
  { recipient }: Pick<CredentialRequest, "recipient">,
  keys: readonly Pick<SecurityKey, "credentials">[],
): readonly RequestList[] {
  const users = keys.flatMap(({ credentials }) => credentials.map(({ userId }) => userId));
  const names = [recipient.email, recipient.externalId, ...users].map(foldName);
  return [...new Set(names)].map(personList);
}
