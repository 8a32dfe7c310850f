import type { Caller } from "../../platform/caller.ts";
import { Fault } from "../../platform/fault.ts";
import { withLogFields } from "../../platform/log.ts";
import type { ConnectorDeps } from "../deps.ts";
import { processSecurityKey } from "../jobs/process-security-keys.ts";
import { type Credential, isRevocable, isRevoking } from "../model/credential.ts";
import type { LoadedRequest } from "../model/loaded-request.ts";
import { type CredentialFilter, type RevocationCause, withRevocations } from "../model/revocation.ts";
import { isTerminal } from "../model/states.ts";
import { loadAfterLeases, loadKept, saveChanges } from "../runs/change-request.ts";
import { isPastDeadline, type Run, startRun } from "../runs/run.ts";

/** What a call revokes: a request, one security key of it, or one credential of that. */
export interface RevocationScope {
  readonly requestId: string;
  readonly keyId?: string | undefined;
  /** The position of the credential on its security key, from 1. */
  readonly credential?: number | undefined;
  readonly isNotRegistered?: RevocationCause["isNotRegistered"];
}

/** What is left to a person of a credential that may be registered and whose id is not known. */
export const leftToPerson =
  "It may have been registered, and its id is not known: look for it at the identity provider by its user, remove it " +
  "there, then revoke it with not_registered.";

/**
 * Revokes the credentials of a scope that are active or may be: stores the revocations, then calls the IdPs; a job
 * continues what is left. Credentials that are still open stay as they are. Returns the current request, and whether
 * none of the others can or may be active any more. Throws Fault `not_found`; `conflict` if none can be revoked.
 */
export async function revokeNow(
  { requestId, keyId, credential, isNotRegistered = false }: RevocationScope,
  requestedBy: Caller,
  deps: ConnectorDeps,
): Promise<{ readonly loaded: LoadedRequest; readonly isRevoked: boolean }> {
  const filter: CredentialFilter = (key, index) =>
    (keyId === undefined || key.id === keyId) && (credential === undefined || index === credential - 1);
  const loaded = await revokeSelected(requestId, filter, { reason: "requested", requestedBy, isNotRegistered }, deps);
  return { loaded, isRevoked: !selected(loaded, filter).some(isOpen) };
}

/** As `revokeNow`, for the credentials that `filter` selects. Returns the current request. */
export async function revokeSelected(
  requestId: string,
  filter: CredentialFilter,
  cause: RevocationCause,
  deps: ConnectorDeps,
): Promise<LoadedRequest> {
  // What is not due yet is not brought forward: it may be the activation of another credential.
  const run: Run = { ...startRun("on_demand", deps), mode: "timer" };
  return withLogFields({ credentialRequestId: requestId }, async () => {
    const inScope = (loaded: LoadedRequest) => selected(loaded, filter).map(({ key }) => key);
    const start = await loadAfterLeases(() => loadKept(requestId, run), inScope, run);
    requireRevocable(
      selected(start, filter).map(each => each.credential),
      cause,
    );
    let loaded = await requestRevocation(start, filter, cause, deps);
    const due = selected(loaded, filter).filter(({ credential: each }) => isRevoking(each));
    for (const id of new Set(due.map(({ key }) => key.id))) {
      if (isPastDeadline(run)) break;
      await processSecurityKey(loaded, id, run);
      loaded = await loadKept(requestId, deps);
    }
    return loaded;
  });
}

const selected = (loaded: LoadedRequest, filter: CredentialFilter) =>
  loaded.keys.flatMap(key =>
    key.credentials.map((credential, index) => ({ key, index, credential })).filter(each => filter(key, each.index)),
  );

const isOpen = ({ credential }: { readonly credential: Credential }): boolean =>
  isRevocable(credential) || isRevoking(credential) || credential.mayBeRegistered === true;

function requireRevocable(credentials: readonly Credential[], { isNotRegistered }: RevocationCause): void {
  if (credentials.length === 0)
    throw new Fault("not_found", "The credential request has no such security key or credential.");
  if (credentials.some(({ revocation }) => revocation !== undefined)) return;
  if (credentials.some(isNotRegistered ? each => each.mayBeRegistered : isRevocable)) return;
  if (isNotRegistered && credentials.some(isRevocable))
    throw new Fault("conflict", "The credential is active. Revoke it without not_registered first.");
  if (credentials.some(each => each.mayBeRegistered)) throw new Fault("conflict", leftToPerson);
  if (credentials.every(({ state }) => isTerminal(state)))
    throw new Fault("conflict", "No credential has become active, so none can be revoked.");
  // A cancel ends only credentials that wait for their security key.
  const isCancellable = credentials.some(({ state }) => state === "processing");
  const wayOut = isCancellable
    ? "Wait for the activation, or cancel the request."
    : "Repeat the call when the credential is active.";
  throw new Fault("conflict", `No credential is active yet. ${wayOut}`);
}

/**
 * Saves revocations of all credentials that `filter` selects and that can be revoked, in one write. Calls no IdP: the
 * due work of the security keys does. Returns the current request. Throws Fault `not_found` if the request was deleted
 * meanwhile.
 */
export async function requestRevocation(
  loaded: LoadedRequest,
  filter: CredentialFilter,
  cause: RevocationCause,
  deps: ConnectorDeps,
): Promise<LoadedRequest> {
  let current: LoadedRequest | undefined;
  const saved = await saveChanges(
    loaded,
    read => {
      // The register names no caller.
      const { requestedBy: _, ...anonymous } = cause;
      const kept = read.request.isArchived === true ? anonymous : cause;
      const keys = read.keys.flatMap(key => {
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
  const { reason, isNotRegistered } = cause;
  if (saved !== undefined)
    deps.log.info("revocation_requested", { reason, ...(isNotRegistered && { isNotRegistered }) });
  return result;
}
