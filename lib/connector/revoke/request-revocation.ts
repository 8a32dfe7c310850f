import { isDeepStrictEqual } from "node:util";
import { Fault } from "../../platform/fault.ts";
import type { Instant } from "../../platform/time.ts";
import type { ConnectorDeps } from "../deps.ts";
import { isRevoking, isUsable } from "../model/credential.ts";
import { type LoadedRequest, securityKeysOf } from "../model/loaded-request.ts";
import { firstAttempt } from "../model/retry.ts";
import { withRollUp } from "../model/roll-up.ts";
import type { Credential, Revocation, SecurityKey } from "../model/security-key.ts";
import { nextDue } from "../runs/next-due.ts";
import { saveChanges } from "../storage/change-request.ts";

/** Selects credentials by their security key and their index on it. */
export type CredentialFilter = (key: SecurityKey, index: number) => boolean;

/** Why and by whom a credential is revoked. */
export type RevocationCause = Pick<Revocation, "reason" | "requestedBy">;

/** Whether the credential can be revoked: it is active, and no revocation is in progress or done. */
const isRevocable = (credential: Credential): boolean => credential.state === "active" && isUsable(credential);

/** Returns the revocation in progress with its next attempt due at once, unless the IdP asked for a wait. */
function broughtForward({ retry, ...revocation }: Revocation, at: Instant): Revocation {
  const isLater = retry.nextAt > at && (retry.notBefore ?? at) <= at;
  return { ...revocation, retry: isLater ? { ...retry, nextAt: at } : retry };
}

/**
 * Returns the security key with revocations of the active credentials that `filter` selects, due at once; the same object if there are
 * none. Revocations that are done stay as they are, those in progress are due at once, failed ones start again. A due PIN email is dropped if
 * no usable credential is left.
 */
export function withRevocations(
  key: SecurityKey,
  filter: CredentialFilter,
  cause: RevocationCause,
  at: Instant,
): SecurityKey {
  const revoked = (credential: Credential): Credential => {
    const { revocation } = credential;
    if (isRevocable(credential))
      return { ...credential, revocation: { ...cause, state: "revoking", requestedAt: at, retry: firstAttempt(at) } };
    return revocation && isRevoking(credential)
      ? { ...credential, revocation: broughtForward(revocation, at) }
      : credential;
  };
  const credentials = key.credentials.map((each, index) => (filter(key, index) ? revoked(each) : each));
  if (isDeepStrictEqual(credentials, key.credentials)) return key;
  const changed = withRollUp({ ...key, credentials }, at);
  // A job that has the lease releases it. If it crashes, the security key is due as soon as its lease expires.
  const due = nextDue(changed);
  return { ...changed, ...(due && { due }) };
}

/**
 * Saves revocations of all active credentials that `filter` selects, in one write. Calls no IdP: the due work of the security keys does. Returns the current request. Throws
 * Fault `not_found` if the request was deleted meanwhile.
 */
export async function requestRevocation(
  loaded: LoadedRequest,
  filter: CredentialFilter,
  cause: RevocationCause,
  deps: Pick<ConnectorDeps, "requests" | "now" | "log">,
): Promise<LoadedRequest> {
  let current: LoadedRequest | undefined;
  const saved = await saveChanges(
    loaded,
    read => {
      // The register names no caller.
      const { requestedBy: _, ...anonymous } = cause;
      const kept = read.request.value.isArchived === true ? anonymous : cause;
      const keys = securityKeysOf(read).flatMap(key => {
        const changed = withRevocations(key, filter, kept, deps.now());
        return changed === key ? [] : [changed];
      });
      current = keys.length === 0 ? read : undefined;
      return keys.length === 0 ? undefined : { keys };
    },
    deps,
  );
  const result = saved ?? current;
  if (result === undefined) throw new Fault("not_found", "There is no such credential request.");
  if (saved !== undefined) deps.log.info("revocation_requested", { reason: cause.reason });
  return result;
}
