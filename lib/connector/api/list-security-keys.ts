import * as z from "zod";
import { omitUndefined } from "../../platform/collections.ts";
import type { Instant } from "../../platform/time.ts";
import type { ConnectorDeps } from "../deps.ts";
import { type Credential, shownState } from "../model/credential.ts";
import type { LoadedRequest } from "../model/loaded-request.ts";
import type { CredentialRequest } from "../model/request.ts";
import { aaguidList, isNamed, personList, registerList, serialList } from "../model/request-lists.ts";
import { isOnSite, type SecurityKey } from "../model/security-key.ts";
import { deliveryStateOf } from "../model/shipment.ts";
import type { shownCredentialStates } from "../model/states.ts";
import { type ListPage, readPage } from "./read-page.ts";
import { credentialState, mayBeRegistered } from "./read-security-key.ts";

/** What an entry of the register must match, by the names of the API. Names are compared without regard to letter case. */
interface RegisterFilter {
  readonly serial_number?: string | undefined;
  readonly user_id?: string | undefined;
  readonly state?: (typeof shownCredentialStates)[number] | undefined;
  readonly aaguid?: string | undefined;
}

const fields = () => ({
  credential_request_id: z.string().describe("The request. It cannot be read any more after its clean-up."),
  key_id: z.string().describe("Names the key within its request."),
  credential: z.int().min(1).describe("Position of the credential on its key."),
  serial_number: z.string().optional().describe("Serial number, once the key maker or the enrollment reports it."),
  firmware: z.string().optional().describe("Firmware version, as the key maker or the enrollment reports it."),
  aaguid: z.string().optional().describe("The model, from the attestation. Absent until the response is read."),
  idp_id: z.string().describe("The IdP that the credential is for."),
  user_id: z.string().describe("The user at the relying party."),
  state: credentialState.describe("State of the credential."),
  may_be_registered: mayBeRegistered(),
  ordered_at: z.iso.datetime().describe("When the request was created."),
  delivered_at: z.iso.datetime().optional().describe("When the delivery service reported its shipment as delivered."),
  activated_at: z.iso.datetime().optional().describe("When the IdP registered the credential."),
  revoked_at: z.iso.datetime().optional().describe("When the IdP confirmed the removal of the credential."),
  replaced_by: z.string().optional().describe("The latest request whose keys replace this one, unless it failed."),
});

/** An entry of the register: a credential on a security key (C22). */
export const registeredKeyV2 = z.lazy(() => z.object(fields()).meta({ id: "RegisteredKey" }));

type RegisteredKey = z.output<typeof registeredKeyV2>;

/** Returns the names of the fields of an entry, in the order of the columns of CSV. */
export const registerColumns = () => Object.keys(fields()) as readonly (keyof RegisteredKey)[];

/**
 * Returns a page of the register of security keys: an entry for each credential that matches every filter, in the order
 * of the creation of the requests (C22). Archived requests have entries too.
 * @param range at most `top` entries after the position `after`; more only if one request has more
 */
export function listSecurityKeys(
  filter: RegisterFilter,
  range: { readonly top: number; readonly after?: string | undefined },
  deps: ConnectorDeps,
): Promise<ListPage<RegisteredKey>> {
  const { serial_number: serial, user_id: userId, aaguid, state } = filter;
  const named =
    (serial !== undefined && serialList(serial)) ||
    (userId !== undefined && personList(userId)) ||
    (aaguid !== undefined && aaguidList(aaguid)) ||
    registerList;
  const source = {
    lists: [[named]],
    isExact: named === registerList && state === undefined,
    entriesOf: (loaded: LoadedRequest) => entriesOf(loaded, filter),
  };
  return readPage(source, range, deps);
}

function entriesOf({ request, keys }: LoadedRequest, filter: RegisterFilter): readonly RegisteredKey[] {
  const isListed = (credential: Credential): boolean =>
    isNamed(filter.user_id, credential.userId) &&
    isNamed(filter.aaguid, credential.aaguid) &&
    isNamed(filter.state, shownState(credential));
  return keys
    .filter(({ serial }) => isNamed(filter.serial_number, serial))
    .flatMap(key =>
      key.credentials.flatMap((each, index) => (isListed(each) ? [entryOf(request, key, each, index + 1)] : [])),
    );
}

const entryOf = (
  request: CredentialRequest,
  key: SecurityKey,
  credential: Credential,
  position: number,
): RegisteredKey =>
  omitUndefined({
    credential_request_id: request.id,
    key_id: key.id,
    credential: position,
    serial_number: key.serial,
    firmware: key.firmware,
    aaguid: credential.aaguid,
    idp_id: credential.idpId,
    user_id: credential.userId,
    state: shownState(credential),
    may_be_registered: credential.mayBeRegistered,
    ordered_at: request.createdAt,
    delivered_at: isOnSite(key) ? undefined : deliveredAt(request),
    activated_at: credential.activatedAt,
    revoked_at: credential.revocation?.revokedAt,
    replaced_by: key.replacedBy?.requestId,
  });

const deliveredAt = ({ delivery }: CredentialRequest): Instant | undefined =>
  deliveryStateOf(delivery?.shipment) === "delivered" ? delivery?.shipment?.endedAt : undefined;
