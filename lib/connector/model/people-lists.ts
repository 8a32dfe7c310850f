import { createHash } from "node:crypto";
import type { Instant } from "../../time.ts";
import type { CredentialRequest, SecurityKey } from "./request.ts";
import type { RequestState } from "./states.ts";

/** A list of requests in the order of their creation (decision C19): those in a state, and those that concern a person. */
export type RequestList = { readonly state: RequestState } | { readonly person: string };

/** Where a request stands in every list that it is in. */
export interface ListKey {
  readonly createdAt: Instant;
  readonly requestId: string;
}

/** Sorts as the requests were created, and names one. */
export const positionOf = ({ createdAt, requestId }: ListKey): string => `${createdAt}_${requestId}`;

export const listKeyOf = ({ id, createdAt }: Pick<CredentialRequest, "id" | "createdAt">): ListKey => ({
  requestId: id,
  createdAt,
});

/**
 * The list of whoever goes by an e-mail address, an external id or a user id, in any letter case. The name is a hash: the
 * characters of an address cannot all stand in a row key.
 */
export const personList = (name: string): { readonly person: string } => ({
  person: createHash("sha256").update(foldName(name)).digest("base64url"),
});

export const isSameList = (a: RequestList, b: RequestList): boolean =>
  "state" in a ? "state" in b && a.state === b.state : "person" in b && a.person === b.person;

/** The form in which names of people are compared. */
export const foldName = (name: string): string => name.normalize("NFC").trim().toLowerCase();

/** The lists of all whom a request concerns: who gets the keys, and whose credentials they carry. */
export function peopleLists(
  { recipient }: Pick<CredentialRequest, "recipient">,
  keys: readonly Pick<SecurityKey, "credentials">[],
): readonly RequestList[] {
  const users = keys.flatMap(({ credentials }) => credentials.map(({ userId }) => userId));
  const names = [recipient.email, recipient.externalId, ...users].map(foldName);
  return [...new Set(names)].map(personList);
}
