import { createHash } from "node:crypto";
import type { Instant } from "../../platform/time.ts";
import type { CredentialRequest, SecurityKey } from "./request.ts";
import type { RequestState } from "./states.ts";

/**
 * A list of requests in the order of their creation: those in one state, or those with one name. A name is the hash of a
 * person's name, of a customer reference or of a serial number.
 */
export type RequestList = { readonly state: RequestState } | { readonly name: string };

/** The sort key of a request, equal in each of its lists. */
export interface ListKey {
  readonly createdAt: Instant;
  readonly requestId: string;
}

/** Returns the list key as text that sorts by creation time and is unique. */
export const sortKeyOf = ({ createdAt, requestId }: ListKey): string => `${createdAt}_${requestId}`;

export const listKeyOf = ({ id, createdAt }: Pick<CredentialRequest, "id" | "createdAt">): ListKey => ({
  requestId: id,
  createdAt,
});

/**
 * Returns the list of the person with this email address, external id or user id. The name is folded and hashed, because a row key does
 * not allow every character of an address.
 */
export const personList = (name: string): RequestList => nameList(`person/${foldName(name)}`);

/** Returns the list of the requests with this customer reference. */
export const referenceList = (reference: string): RequestList => nameList(`customer_reference/${foldName(reference)}`);

/** Returns the list of the requests with a security key of this serial number. */
export const serialList = (serial: string): RequestList => nameList(`serial_number/${foldName(serial)}`);

const nameList = (name: string) => ({ name: createHash("sha256").update(name).digest("base64url") });

export const isSameList = (a: RequestList, b: RequestList): boolean =>
  "state" in a ? "state" in b && a.state === b.state : "name" in b && a.name === b.name;

/** Returns a name of a person in the form in which names are compared. */
export const foldName = (name: string): string => name.normalize("NFC").trim().toLowerCase();

/**
 * Returns the lists by which a request is found: of its recipient, of the users of its credentials, of its customer
 * reference, and of the serial numbers that are known.
 */
export function nameLists(
  { recipient, shipment }: Pick<CredentialRequest, "recipient" | "shipment">,
  keys: readonly Pick<SecurityKey, "credentials" | "serial">[],
): readonly RequestList[] {
  const users = keys.flatMap(({ credentials }) => credentials.map(({ userId }) => userId));
  const people = [recipient.email, recipient.externalId, ...users].map(foldName);
  const reference = shipment?.customerReference;
  const serials = keys.flatMap(({ serial }) => serial ?? []).map(foldName);
  return [
    ...[...new Set(people)].map(personList),
    ...(reference === undefined ? [] : [referenceList(reference)]),
    ...[...new Set(serials)].map(serialList),
  ];
}

/** Returns the identifier that a create gave its recipient; undefined for an email, which no read or event shows. */
export const externalIdOf = ({ externalId, email }: CredentialRequest["recipient"]): string | undefined =>
  foldName(externalId) === foldName(email) ? undefined : externalId;
