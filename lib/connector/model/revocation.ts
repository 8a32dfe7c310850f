import { isDeepStrictEqual } from "node:util";
import { type Instant, plus } from "../../platform/time.ts";
import { type Credential, isRevocable, isRevoking, type Revocation } from "./credential.ts";
import type { Clock } from "./intervals.ts";
import type { RequestValues } from "./loaded-request.ts";
import { nextDue } from "./next-due.ts";
import type { CredentialRequest } from "./request.ts";
import { isForSameUser } from "./request-lists.ts";
import { firstAttempt } from "./retry.ts";
import { withRollUp } from "./roll-up.ts";
import { isOnSite, type SecurityKey } from "./security-key.ts";
import { deliveryStateOf, type LossAction } from "./shipment.ts";
import { isTerminal } from "./states.ts";

/** Selects credentials by their security key and their index on it. */
export type CredentialFilter = (key: SecurityKey, index: number) => boolean;

/** Why and by whom a credential is revoked. */
export interface RevocationCause extends Pick<Revocation, "reason" | "requestedBy"> {
  /** Whether a person has checked that the IdP does not have the credential: it is not called then. */
  readonly isNotRegistered?: boolean;
}

/** Returns the credential after its removal. */
export function revoked(
  { mayBeRegistered, ...credential }: Credential,
  revocation: Revocation,
  at: Instant,
): Credential {
  const { mayBeRemoved, retry, ...asked } = revocation;
  const { lastError, ...attempts } = retry;
  return { ...credential, revocation: { ...asked, state: "revoked", revokedAt: at, retry: attempts } };
}

/** Whether a person can end the credential's doubt or its revocation: it may be registered, or was not removed yet. */
const canEndByPerson = ({ mayBeRegistered, revocation }: Credential): boolean =>
  mayBeRegistered === true || (revocation !== undefined && revocation.state !== "revoked");

/** Returns the revocation in progress with its next attempt due at once, unless the IdP asked for a wait. */
function broughtForward({ retry, ...revocation }: Revocation, at: Instant): Revocation {
  const isLater = retry.nextAt > at && (retry.notBefore ?? at) <= at;
  return { ...revocation, retry: isLater ? { ...retry, nextAt: at } : retry };
}

/**
 * Returns the security key with revocations of the credentials that `filter` selects and that can be revoked, due at
 * once; the same object if there are none. Revocations that are done stay as they are, those in progress are due at
 * once, failed ones start again. With `isNotRegistered`, those in progress or failed are done, and no doubt is left. A
 * due PIN email is dropped if no usable credential is left.
 */
export function withRevocations(
  key: SecurityKey,
  filter: CredentialFilter,
  { isNotRegistered = false, ...cause }: RevocationCause,
  at: Instant,
): SecurityKey {
  const asked: Revocation = { ...cause, state: "revoking", requestedAt: at, retry: firstAttempt(at) };
  const changedCredential = (credential: Credential): Credential => {
    const { revocation } = credential;
    if (isNotRegistered) return canEndByPerson(credential) ? revoked(credential, asked, at) : credential;
    if (isRevocable(credential)) return { ...credential, revocation: asked };
    return revocation && isRevoking(credential)
      ? { ...credential, revocation: broughtForward(revocation, at) }
      : credential;
  };
  const credentials = key.credentials.map((each, index) => (filter(key, index) ? changedCredential(each) : each));
  if (isDeepStrictEqual(credentials, key.credentials)) return key;
  const changed = withRollUp({ ...key, credentials }, at);
  // A job that has the lease releases it. If it crashes, the security key is due as soon as its lease expires.
  const due = nextDue(changed);
  return { ...changed, ...(due && { due }) };
}

/**
 * Returns the security keys with revocations of the active credentials of shipped ones, if their shipment is lost and
 * the settings say so. A revocation that has failed is left to a person. Each key that does not change stays the same
 * object.
 */
export function withLostRevoked(
  keys: readonly SecurityKey[],
  { delivery }: Pick<CredentialRequest, "delivery">,
  { now, onLoss }: Pick<Clock, "now"> & { readonly onLoss: LossAction },
): readonly SecurityKey[] {
  if (onLoss !== "revoke" || deliveryStateOf(delivery?.shipment) !== "lost") return keys;
  const isNew = (key: SecurityKey, index: number) => key.credentials[index]?.revocation === undefined;
  return keys.map(key => (isOnSite(key) ? key : withRevocations(key, isNew, { reason: "lost" }, now())));
}

/** Returns the replaced security key as reads and events name it. */
export const replacesFields = ({ requestId, keyId, reason, revoke }: NonNullable<CredentialRequest["replaces"]>) => ({
  credential_request_id: requestId,
  key_id: keyId,
  reason,
  revoke,
});

const isOpen = ({ state }: Credential): boolean => !isTerminal(state);
const isActive = ({ state }: Credential): boolean => state === "active";

/**
 * Whether the orders of a request are placed. A shipment that was found by look-up may belong to another request until
 * its link is confirmed. A request that ended without an active credential replaces nothing.
 */
function isPlaced({ state, delivery }: CredentialRequest, credentials: readonly Credential[]): boolean {
  if (isTerminal(state)) return credentials.some(isActive);
  return state === "started" && delivery?.shipment?.tentative !== true;
}

/**
 * Returns what the present state of a request means for the security key that it replaces. When `replaceForMs` is over,
 * a credential is revoked although its replacement is not active yet.
 * @returns `key`: the security key with the link to the request, if no later one replaces it; the same one if nothing
 * changes. `isRevocable`: the credentials of the key to revoke; never those of users for whom the request has no
 * credential that is or may become active. `nextLook`: when a later state of the two may mean something else; undefined
 * if none can
 */
export function replacementOf({ request, keys }: RequestValues, replaced: SecurityKey, { now, intervals }: Clock) {
  const { id, createdAt, replaces } = request;
  const latest = plus(createdAt, intervals.replaceForMs);
  const isOver = latest <= now();
  const ordered = keys.flatMap(({ credentials }) => credentials);
  const placed = isPlaced(request, ordered);
  const isRevocable = (credential: Credential): boolean => {
    const instead = ordered.filter(isForSameUser(credential));
    const isTime = isOver || replaces?.revoke === "now" || !instead.some(isOpen);
    // One that failed after this order was made is left to a person, as any other.
    const isNew = credential.revocation === undefined || credential.revocation.requestedAt < createdAt;
    return placed && isTime && isNew && instead.some(each => isOpen(each) || isActive(each));
  };
  const isDone = isTerminal(request.state) && (!placed || isOver || !replaced.credentials.some(isOpen));
  const next = plus(now(), intervals.replaceCheckMs);
  return {
    key: withLink(replaced, { requestId: id, orderedAt: createdAt }, placed, request),
    isRevocable,
    nextLook: isDone ? undefined : isOver || next < latest ? next : latest,
  };
}

function withLink(
  key: SecurityKey,
  link: { readonly requestId: string; readonly orderedAt: Instant },
  placed: boolean,
  { state }: CredentialRequest,
): SecurityKey {
  const { replacedBy: former, ...rest } = key;
  const isOurs = former?.requestId === link.requestId;
  if (placed) return isOurs || (former && former.orderedAt > link.orderedAt) ? key : { ...key, replacedBy: link };
  return isOurs && isTerminal(state) ? rest : key;
}
