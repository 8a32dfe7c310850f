import pLimit from "p-limit";
import { Fault, invalidRequest } from "../../platform/fault.ts";
import { PeerFailure } from "../../platform/peer-failure.ts";
import { instant, minutes, plus } from "../../platform/time.ts";
import type { ConnectorDeps } from "../deps.ts";
import { internalFault, peerFault, tooLateFault } from "../faults.ts";
import type { Idp } from "../idp/contract.ts";
import { optionsRequestOf, unusableOptions } from "../idp/creation-options.ts";
import type { Clock, Intervals } from "../model/intervals.ts";
import type { LoadedRequest } from "../model/loaded-request.ts";
import { isOnSite, type SecurityKey } from "../model/security-key.ts";
import type { Challenge } from "../model/webauthn.ts";
import { isNoToken } from "../peers/access-token.ts";
import type { OptionsResponses } from "../recovery/compensate.ts";
import { notConfigured } from "./check-request.ts";
import type { RequestDraft } from "./draft.ts";

/** Clocks differ, and an IdP may round its time. */
const toleranceMs = minutes(5);

/**
 * Asks the IdP of each credential for creation options, with limited concurrency. Starts no further calls after the
 * first failure or when the time of the create is over, and throws the Fault of the first failure when all have ended.
 * @param responses gets each challenge, and which calls were not answered
 */
export async function askIdps(
  { request, keys }: LoadedRequest,
  pathOf: RequestDraft["pathOf"],
  responses: OptionsResponses,
  deps: Pick<ConnectorDeps, "idps" | "intervals" | "concurrency" | "now" | "log">,
): Promise<void> {
  const { idps, intervals, concurrency, now } = deps;
  const until = plus(request.createdAt, intervals.createMs);
  const logged = new Set<string>();
  /** Logs a warning for an administrator of the IdP, once for all its credentials. */
  const warn = (event: string, idp: Idp, fields: object): void => {
    if (logged.has(`${event} ${idp.id}`)) return;
    logged.add(`${event} ${idp.id}`);
    deps.log.warn(event, { credentialRequestId: request.id, idp: idp.id, ...fields });
  };
  const credentials = keys.flatMap(key => key.credentials.map((credential, index) => ({ key, index, credential })));
  await forEachLimited(credentials, concurrency, async ({ key, index, credential }) => {
    const idp = idps.get(credential.idpId);
    if (idp === undefined) {
      // The IdP file was reloaded after the request was validated.
      const path = pathOf({ field: "idp", keyId: key.id, index });
      throw invalidRequest([{ path, reason: notConfigured }]);
    }
    if (now() > until) throw tooLateFault();
    // A running call is not aborted with the others: its answer is needed to compensate the registration that it
    // begins.
    const signal = AbortSignal.timeout(intervals.idpCallMs);
    const options = optionsRequestOf(request.id, key.id, index, credential);
    const challenge = await idp.creationOptions(options, signal).catch((error: unknown) => {
      if (error instanceof PeerFailure && error.kind === "unanswered") responses.set(credential, "unanswered");
      if (isUnusable(error)) warn("idp_options_refused", idp, { detail: error.detail });
      throw idpFault(error, idp);
    });
    // An unusable challenge is kept too: its IdP state is needed to compensate the registration.
    responses.set(credential, challenge);
    const { expiresAt, askedExpiry } = challenge;
    if (expiresAt !== undefined) {
      if (askedExpiry !== undefined && expiresAt.getTime() < askedExpiry.getTime() - toleranceMs)
        warn("challenge_shortened", idp, { expiresAt, askedExpiry });
      // Only a call of process-credential-requests activates it in time.
      const firstPoll = plus(now(), intervals.enrollmentPoll.minMs);
      if (isOnSite(key) && instant(expiresAt.getTime()) <= firstPoll) warn("challenge_before_poll", idp, { expiresAt });
    }
    const problem = challengeProblem(challenge, key, idp, deps);
    if (problem === undefined) return;
    warn("idp_options_refused", idp, { detail: problem });
    throw new Fault("idp_refused", problem);
  });
}

const isUnusable = (error: unknown): error is PeerFailure =>
  error instanceof PeerFailure && error.code === unusableOptions;

/** Returns the fault of a create for which an IdP returned no creation options. */
export function idpFault(error: unknown, idp: Pick<Idp, "id">): Fault {
  if (!(error instanceof PeerFailure)) return internalFault(error);
  const peer = `identity provider ${idp.id}`;
  const detail = error.detail === undefined ? "" : `: ${error.detail}`;
  // Also if it counts as unanswered, because the IdP did not remove what it had begun.
  if (isUnusable(error))
    return new Fault("idp_refused", `The creation options of the ${peer} are not usable${detail}`, { cause: error });
  if (concernsCredential(error))
    return new Fault("idp_refused", `The ${peer} refused the credential${detail}`, { cause: error });
  return peerFault(error, { peer });
}

/**
 * Whether an IdP refused this user or this permission. 401 and a missing token concern the connector's own credentials.
 * A 403 without the IdP's own error code may come from a proxy.
 */
const concernsCredential = (failure: PeerFailure): boolean =>
  failure.kind === "refused" ||
  failure.kind === "missing" ||
  (failure.status === 403 && failure.code !== undefined && !isNoToken(failure));

/**
 * The time from an order to the first poll that can find its security keys programmed. A challenge that ends earlier is
 * of no use for them: the keys would be shipped, and their credentials never activated (C6).
 */
export const shippedChallengeMs = ({ shipmentPoll, productionMs }: Pick<Intervals, "shipmentPoll" | "productionMs">) =>
  shipmentPoll.minMs + productionMs;

/**
 * Returns why a challenge cannot lead to an active credential on a security key, and what to change, as a sentence for
 * the caller; undefined if it can. An authenticator on site only needs a challenge that has not ended: its enrollment
 * may follow at once, and a call of process-credential-requests activates it without waiting for the first poll.
 */
export function challengeProblem(
  { options, expiresAt }: Challenge,
  key: Pick<SecurityKey, "provisioning">,
  { id, longerChallengesHint }: Pick<Idp, "id" | "longerChallengesHint">,
  { now, intervals }: Clock,
): string | undefined {
  const peer = `identity provider ${id}`;
  const selection = options.authenticatorSelection?.authenticatorAttachment;
  if (!isOnSite(key) && selection === "platform")
    return `The ${peer} asks for a platform authenticator (authenticatorSelection.authenticatorAttachment), which no shipped security key is. Allow cross-platform authenticators in its policy.`;
  if (expiresAt === undefined) return undefined;
  const neededUntil = isOnSite(key) ? now() : plus(now(), shippedChallengeMs(intervals));
  if (instant(expiresAt.getTime()) > neededUntil) return undefined;
  const reason = isOnSite(key)
    ? "and is over already: compare the clocks"
    : `before a shipped security key can be programmed (${neededUntil})`;
  return `The challenge of the ${peer} ends at ${expiresAt.toISOString()}, ${reason}. ${longerChallengesHint}`;
}

/**
 * Does `work` for each item, at most `concurrency` at once. After a failure it starts no more, waits for the end of the
 * others and throws the first failure.
 */
export async function forEachLimited<T>(
  items: readonly T[],
  concurrency: number,
  work: (item: T) => Promise<void>,
): Promise<void> {
  const failures: unknown[] = [];
  await pLimit(concurrency).map(items, async item => {
    if (failures.length === 0) await work(item).catch((error: unknown) => failures.push(error));
  });
  if (failures.length > 0) throw failures[0];
}
