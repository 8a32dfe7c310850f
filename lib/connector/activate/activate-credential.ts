import { plus } from "../../time.ts";
import { openAttestation } from "../collect/decode-responses.ts";
import type { ConnectorDeps, LoadedRequest } from "../deps.ts";
import { PeerFailure } from "../http/failure.ts";
import type { Idp, RegistrationQuery } from "../idp/contract.ts";
import { backOffMs } from "../model/intervals.ts";
import type { KeyResponses } from "../model/key-responses.ts";
import { type Credential, registeredName, type SecurityKey } from "../model/request.ts";
import { afterEvent, withRollUp } from "../model/roll-up.ts";
import { isTerminal } from "../model/states.ts";
import type { Attestation, Challenge } from "../model/webauthn.ts";
import { conclude, type KeyHold, renewLease } from "../store/lease.ts";
import { securityKeyOf } from "../store/save-request.ts";
import { openIdpState } from "../store/sealed-idp-state.ts";

/**
 * Activates one credential of a held key at its IdP (decision C8). The try is written before it is sent; an unanswered one is
 * read back by credential id before anything else is done.
 * Returns the request as it now stands, undefined when the hold is lost.
 */
export async function activateCredential(
  hold: KeyHold,
  index: number,
  deps: ConnectorDeps,
): Promise<LoadedRequest | undefined> {
  const key = securityKeyOf(hold.loaded, hold.keyId);
  const credential = key.credentials[index];
  const idp = credential && deps.idps.get(credential.idpId);
  if (credential?.idpState === undefined || credential.credentialId === undefined)
    throw new Error("a credential without a response");
  if (idp === undefined)
    return later(hold, index, "Its identity provider is not configured any more.", undefined, deps);

  const idpState = await openIdpState(hold.loaded.request.value.id, key.id, index, credential.idpState, deps.sealer);
  const tried = credential.triedAt !== undefined;
  const overdue = (credential.retryableUntil ?? deps.now()) <= deps.now();
  const sought = {
    credentialId: credential.credentialId,
    name: registeredName(key),
    since: credential.triedAt ?? deps.now(),
  };
  const registered = tried ? await readBack(idp, idpState, sought, deps) : false;
  if (registered === true) return end(hold, index, "activated", undefined, deps);
  if (registered instanceof PeerFailure && !overdue)
    return later(hold, index, `${idp.id} could not be asked for the credential.`, registered.retryAfter, deps);
  if (registered === false && credential.refusal !== undefined)
    return end(hold, index, "refused", credential.refusal.reason, deps);
  if (overdue) {
    const doubt = registered === false ? "" : " It may be registered, check.";
    return end(hold, index, "expired", `Not activated in time.${doubt} ${credential.errorMessage ?? ""}`.trim(), deps);
  }
  const attestation = await attestationOf(hold, key, index, deps);
  if (attestation instanceof PeerFailure) return later(hold, index, attestation.message, attestation.retryAfter, deps);
  if (typeof attestation === "string") return end(hold, index, "response_rejected", attestation, deps);

  // The first unanswered try: what it may have registered was created since then.
  const triedAt = credential.triedAt ?? deps.now();
  const renewed = await renewLease(
    hold,
    withCredential(index, each => ({ ...each, triedAt })),
    deps.intervals.idpCall,
    deps,
  );
  if (renewed === undefined) return undefined;
  try {
    const limits = { signal: AbortSignal.timeout(deps.intervals.idpCall), notAfter: renewed.notAfter };
    await idp.activate(idpState, attestation, registeredName(key), limits);
  } catch (error) {
    if (!(error instanceof PeerFailure)) throw error;
    return failed(renewed, index, error, { tried, readable: registered !== undefined }, deps);
  }
  return end(renewed, index, "activated", undefined, deps);
}

const withCredential =
  (index: number, change: (credential: Credential) => Credential) =>
  (key: SecurityKey): SecurityKey => ({
    ...key,
    credentials: key.credentials.map((credential, position) => (position === index ? change(credential) : credential)),
  });

async function readBack(
  idp: Idp,
  idpState: Challenge["idpState"],
  sought: RegistrationQuery,
  deps: ConnectorDeps,
): Promise<boolean | undefined | PeerFailure> {
  try {
    return await idp.isRegistered(idpState, sought, AbortSignal.timeout(deps.intervals.idpCall));
  } catch (error) {
    if (!(error instanceof PeerFailure)) throw error;
    deps.log.warn("read_back_failed", { idp: idp.id, error });
    return error;
  }
}

/** The attestation from the responses as received, or why there is none: for now where a peer failed, else for good. */
async function attestationOf(
  { loaded }: KeyHold,
  key: SecurityKey,
  index: number,
  deps: ConnectorDeps,
): Promise<Attestation | PeerFailure | string> {
  const responses: KeyResponses | undefined =
    key.responses === undefined ? undefined : await deps.responses.get(key.responses);
  const response = responses?.credentials[index];
  if (response === undefined) return "The key maker's response is lost.";
  const opened = await openAttestation(loaded.request.value.id, key, index, response, deps).catch((error: unknown) => {
    if (!(error instanceof PeerFailure)) throw error;
    deps.log.warn("signing_keys_unread", { keyId: key.id, index, error });
    return error;
  });
  // Signing keys come and go; the response was believed when it came.
  if (opened === "unknown_key") return new PeerFailure("delivery service", "signing key", "unanswered");
  return typeof opened === "string" ? `The key maker's response can not be used: ${opened}.` : opened;
}

function end(
  hold: KeyHold,
  index: number,
  event: "activated" | "refused" | "expired" | "response_rejected",
  reason: string | undefined,
  deps: ConnectorDeps,
): Promise<LoadedRequest | undefined> {
  const idp = securityKeyOf(hold.loaded, hold.keyId).credentials[index]?.idpId;
  deps.log.info("credential_ended", { keyId: hold.keyId, index, outcome: event, idp });
  // A write whose answer got lost is read again as done: what has ended stays as it is.
  const ended = withCredential(index, credential =>
    isTerminal(credential.state) ? credential : afterEvent(credential, event, reason),
  );
  return conclude(hold, key => withRollUp(ended(key), deps.now()), deps);
}

/**
 * A failed activation: again later where that may help, else the end; after an earlier unanswered try only when a later look at
 * the IdP confirms it, or at once where the IdP offers none (decision C8).
 */
function failed(
  hold: KeyHold,
  index: number,
  failure: PeerFailure,
  { tried, readable }: { tried: boolean; readable: boolean },
  deps: ConnectorDeps,
): Promise<LoadedRequest | undefined> {
  deps.log.warn("activation_failed", { keyId: hold.keyId, index, error: failure });
  const reason = failure.detail ?? failure.message;
  // A 404 without the IdP's own words may be a proxy's.
  const foreign = failure.kind === "missing" && failure.code === undefined;
  if (failure.passing || failure.kind === "unauthorized" || foreign) {
    // A 5xx never says that it was not done, not even one that names a time to come back.
    const unanswered = failure.kind === "unanswered" || foreign || (failure.status ?? 0) >= 500;
    return later(hold, index, reason, failure.retryAfter, deps, tried || unanswered);
  }
  if (!tried) return end(hold, index, "refused", reason, deps);
  if (!readable) return end(hold, index, "refused", `${reason} (may be registered, check)`, deps);
  const at = deps.now();
  const refused = {
    refusal: { at, reason },
    errorMessage: reason,
    nextAt: plus(at, deps.intervals.readBackAfter),
    held: true,
  };
  return conclude(
    hold,
    withCredential(index, credential => ({ ...credential, ...refused })),
    deps,
  );
}

/** @param unanswered whether a try may have reached the IdP without our knowing its answer */
function later(
  hold: KeyHold,
  index: number,
  errorMessage: string,
  retryAfter: number | undefined,
  { now, intervals: timing, ...deps }: ConnectorDeps,
  unanswered = true,
): Promise<LoadedRequest | undefined> {
  const postponed = ({ triedAt, held, ...credential }: Credential): Credential => {
    const wait = Math.max(backOffMs(credential.attempts, timing.retryMin, timing.retryMax), (retryAfter ?? 0) * 1000);
    const { retryableUntil: end } = credential;
    const nextAt = plus(now(), wait);
    return {
      ...credential,
      errorMessage,
      attempts: credential.attempts + 1,
      nextAt: end !== undefined && end > now() && end < nextAt ? end : nextAt,
      ...(retryAfter !== undefined && { held: true }),
      ...(unanswered && triedAt !== undefined && { triedAt }),
    };
  };
  return conclude(hold, withCredential(index, postponed), { ...deps, now });
}
