import pLimit from "p-limit";
import { PeerFailure } from "../../platform/peer-failure.ts";
import type { ConnectorDeps } from "../deps.ts";
import { optionsRequestOf } from "../idp/creation-options.ts";
import type { Credential } from "../model/credential.ts";
import { idpName, preRegistrationApi } from "../model/peer-names.ts";
import { enrollmentId, isOnSite, type SecurityKey } from "../model/security-key.ts";
import type { Challenge } from "../model/webauthn.ts";
import { idpStatePurpose, openSealed } from "../storage/sealed.ts";

/**
 * What a create got from the IdPs for its credentials: a challenge, or no response, after which the IdP may have begun
 * a registration. A credential whose IdP was not called or refused is not in it.
 */
export type OptionsResponses = Map<Credential, Challenge | "unanswered">;

/** Makes a call to a peer, which may take `timeLimitMs`. Throws a PeerFailure if it fails or is not made. */
export type MakeCall = (peer: string, timeLimitMs: number, call: () => Promise<void>) => Promise<void>;

interface CompensationDeps
  extends Pick<ConnectorDeps, "idps" | "rfpr" | "intervals" | "sealer" | "log" | "concurrency"> {
  /** Absent if each call is made at once. */
  readonly makeCall?: MakeCall;
}

export const atOnce: MakeCall = (_peer, _timeLimitMs, call) => call();

/**
 * Removes the authenticators of these security keys at the pre-registration API and their registrations at the IdPs.
 * Throws a failure of the pre-registration API, else one of an IdP. May be repeated.
 */
export async function compensate(
  requestId: string,
  keys: readonly SecurityKey[],
  deps: CompensationDeps,
  responses?: OptionsResponses,
): Promise<void> {
  await allEnded([removeAuthenticators(requestId, keys, deps), compensateAtIdps(requestId, keys, deps, responses)]);
}

/** Waits for the end of all. Throws the first failure that may pass, else the first one. */
async function allEnded(work: readonly Promise<void>[]): Promise<void> {
  const results = await Promise.allSettled(work);
  const failures = results.flatMap(result => (result.status === "rejected" ? [result.reason as unknown] : []));
  if (failures.length > 0)
    throw failures.find(error => !(error instanceof PeerFailure) || error.isTransient) ?? failures[0];
}

/**
 * Removes the registrations that were started at the IdPs for credentials without a response, including those of
 * unanswered calls, whose ids are not known. Throws the first failure that may pass, else the first one. May be
 * repeated.
 * @param responses those of a running create; without them, each credential without an IdP state may have an unanswered
 * call
 */
export async function compensateAtIdps(
  requestId: string,
  keys: readonly SecurityKey[],
  deps: CompensationDeps,
  responses?: OptionsResponses,
): Promise<void> {
  const limit = pLimit(deps.concurrency);
  const waiting = keys.flatMap(key =>
    key.credentials.flatMap((credential, index) =>
      credential.state === "processing" ? [{ key, index, credential, response: responses?.get(credential) }] : [],
    ),
  );
  const begun = waiting.filter(
    ({ credential, response }) =>
      responses === undefined || response !== undefined || credential.idpState !== undefined,
  );
  await allEnded(
    begun.map(({ key, index, response }) => {
      const given = response === "unanswered" ? undefined : response?.idpState;
      return limit(() => compensateAtIdp(requestId, key, index, deps, given));
    }),
  );
}

/**
 * Removes the registration that was started at the IdP for one credential, as `compensateAtIdps` does.
 * @param given the IdP state, if it is not stored yet
 */
export async function compensateAtIdp(
  requestId: string,
  { id: keyId, credentials }: SecurityKey,
  index: number,
  { idps, intervals: { idpCallMs }, sealer, log, makeCall = atOnce }: CompensationDeps,
  given?: Challenge["idpState"],
): Promise<void> {
  const credential = credentials[index];
  const idp = credential && idps.get(credential.idpId);
  if (credential === undefined || idp === undefined) return;
  const { idpState } = credential;
  const context = { requestId, keyId, purpose: idpStatePurpose(index) };
  const opened = given ?? (idpState && (await openSealed<Challenge["idpState"]>(idpState, context, { sealer, log })));
  // An IdP that keeps no state is not called.
  const make = idp.compensateUnanswered === undefined ? atOnce : makeCall;
  await make(idpName(idp.id), idpCallMs, async () => {
    const signal = AbortSignal.timeout(idpCallMs);
    // The request must not wait for a key version that may be gone for ever.
    if (!opened) await idp.compensateUnanswered?.(optionsRequestOf(requestId, keyId, index, credential), signal);
    else await idp.compensate(opened, signal);
  });
}

/**
 * Removes authenticators at the pre-registration API: they can no longer be enrolled, and their responses are deleted
 * there. Throws the first failure. May be repeated. If the deployment no longer has the API, only logs that they were
 * left: the request must not wait for ever.
 */
export async function removeAuthenticators(
  requestId: string,
  keys: readonly SecurityKey[],
  { rfpr, concurrency, log, intervals, makeCall = atOnce }: CompensationDeps,
): Promise<void> {
  const authenticators = keys.filter(key => isOnSite(key) && mayHaveBeenSent(key));
  if (authenticators.length === 0) return;
  if (rfpr === undefined)
    return log.warn("authenticators_left", { credentialRequestId: requestId, count: authenticators.length });
  const limit = pLimit(concurrency);
  const remove = ({ id }: SecurityKey) =>
    makeCall(preRegistrationApi, intervals.enrollmentCallMs, () => rfpr.remove(enrollmentId(requestId, id)));
  await Promise.all(authenticators.map(key => limit(remove, key)));
}

/**
 * Response keys are stored before an authenticator is sent, so one without them was never sent, except after a backup
 * in which its credentials count as attempted.
 */
const mayHaveBeenSent = ({ credentials }: SecurityKey): boolean =>
  credentials.some(
    ({ responseKey, triedAt = responseKey, mayBeRegistered }) => triedAt !== undefined || mayBeRegistered,
  );
