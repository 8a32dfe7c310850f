import type { Instant } from "../../platform/time.ts";
import type { Credential } from "./credential.ts";
import type { RequestValues } from "./loaded-request.ts";
import type { CredentialRequest } from "./request.ts";
import type { RequestState } from "./states.ts";

/**
 * A list of requests in the order of their creation: those in one state, or those with one name. A name is the name of
 * a person, a customer reference, a serial number or a model of security keys. An archived request is in no list of a
 * state.
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

/** The list of all requests, whether archived or not: the register of security keys. */
export const registerList = { name: "security_keys" } as const satisfies RequestList;

/** What a name names. A person is named by an email address, an external id or a user id. */
type NameKind = "person" | "customer_reference" | "serial_number" | "aaguid";

const listName = (kind: NameKind, name: string): string => `${kind}/${foldName(name)}`;

/** Returns the list of the person with this email address, external id or user id. */
export const personList = (name: string): RequestList => ({ name: listName("person", name) });

/** Returns the list of the requests with this customer reference. */
export const referenceList = (reference: string): RequestList => ({ name: listName("customer_reference", reference) });

/** Returns the list of the requests with a security key of this serial number. */
export const serialList = (serial: string): RequestList => ({ name: listName("serial_number", serial) });

/** Returns the list of the requests with a security key of this model. */
export const aaguidList = (aaguid: string): RequestList => ({ name: listName("aaguid", aaguid) });

const nameOf = (list: RequestList): string => ("state" in list ? list.state : list.name);

export const isSameList = (a: RequestList, b: RequestList): boolean => nameOf(a) === nameOf(b);

/** Returns the lists that are not among the others. */
export function listsWithout(lists: readonly RequestList[], others: readonly RequestList[]): readonly RequestList[] {
  const names = new Set(others.map(nameOf));
  return lists.filter(list => !names.has(nameOf(list)));
}

/** Returns a name of a person in the form in which names are compared. */
export const foldName = (name: string): string => name.normalize("NFC").trim().toLowerCase();

type User = Pick<Credential, "idpId" | "userId">;

/** Returns the function that checks whether a credential is for the same user at the same IdP. */
export const isForSameUser = (user: User) => (other: User) =>
  user.idpId === other.idpId && foldName(user.userId) === foldName(other.userId);

/** Whether a filter names none, or one of these names. */
export const isNamed = (wanted: string | undefined, ...names: readonly (string | undefined)[]): boolean =>
  wanted === undefined || names.some(name => name !== undefined && foldName(name) === foldName(wanted));

/**
 * Returns the lists of a request: of its state, of its recipient, of the users of its credentials, of its customer
 * reference, and of the serial numbers and models that are known. An archived request has no state and no recipient to
 * be found by.
 */
export function listsOf({ request, keys }: RequestValues): readonly RequestList[] {
  const { state, recipient, shipment, isArchived = false } = request;
  const names = new Set<string>([registerList.name]);
  const add = (kind: NameKind, name: string | undefined): void => {
    if (name !== undefined) names.add(listName(kind, name));
  };
  if (!isArchived) {
    add("person", recipient.email);
    add("person", recipient.externalId);
  }
  add("customer_reference", shipment?.customerReference);
  for (const { serial, credentials } of keys) {
    add("serial_number", serial);
    for (const { userId, aaguid } of credentials) {
      add("person", userId);
      add("aaguid", aaguid);
    }
  }
  return [...(isArchived ? [] : [{ state }]), ...[...names].map(name => ({ name }))];
}

/** Returns the identifier that a create gave its recipient; undefined for an email, which no read or event shows. */
export const externalIdOf = ({ externalId, email }: CredentialRequest["recipient"]): string | undefined =>
  foldName(externalId) === foldName(email) ? undefined : externalId;
