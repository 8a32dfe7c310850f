import { type Instant, plus } from "../../platform/time.ts";
import type { Clock } from "../model/intervals.ts";
import type { RequestValues } from "../model/loaded-request.ts";
import type { CredentialRequest } from "../model/request.ts";
import { foldName } from "../model/request-lists.ts";
import type { Credential, SecurityKey } from "../model/security-key.ts";
import { isTerminal } from "../model/states.ts";

/** Returns the replaced security key as reads and events name it. */
export const replacesFields = ({ requestId, keyId, reason, revoke }: NonNullable<CredentialRequest["replaces"]>) => ({
  credential_request_id: requestId,
  key_id: keyId,
  reason,
  revoke,
});

type User = Pick<Credential, "idpId" | "userId">;

/** Returns the function that tells whether a credential is for the same user at the same IdP. */
export const isForSameUser = (user: User) => (other: User) =>
  user.idpId === other.idpId && foldName(user.userId) === foldName(other.userId);

const isOpen = ({ state }: Credential): boolean => !isTerminal(state);
const isActive = ({ state }: Credential): boolean => state === "active";

/**
 * Whether the orders of a request are placed. A shipment that was found by look-up may belong to another request until its link is
 * confirmed. A request that ended without an active credential replaces nothing.
 */
function isPlaced({ state, delivery }: CredentialRequest, credentials: readonly Credential[]): boolean {
  if (isTerminal(state)) return credentials.some(isActive);
  return state === "started" && delivery?.shipment?.tentative !== true;
}

/**
 * Returns what the present state of a request means for the security key that it replaces. When `replaceForMs` is over, a credential is revoked
 * although its replacement is not active yet.
 * @returns `key`: the security key with the link to the request, if no later one replaces it; the same one if nothing changes.
 * `isRevocable`: the credentials of the key to revoke; never those of users for whom the request has no credential that is or may become
 * active. `nextLook`: when a later state of the two may mean something else; undefined if none can
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
