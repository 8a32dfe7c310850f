import { forEachLimited } from "../../platform/async.ts";
import { Fault, invalidRequest } from "../../platform/fault.ts";
import { PeerFailure } from "../../platform/peer-failure.ts";
import { instant, minutes, plus } from "../../platform/time.ts";
import type { ConnectorDeps } from "../deps.ts";
import { idpFault, tooLateFault } from "../faults.ts";
import type { Idp } from "../idp/contract.ts";
import { isUnusable, optionsRequestOf } from "../idp/creation-options.ts";
import { type Clock, shippedChallengeMs } from "../model/intervals.ts";
import type { LoadedRequest } from "../model/loaded-request.ts";
import { isOnSite, type SecurityKey } from "../model/security-key.ts";
import type { Challenge } from "../model/webauthn.ts";
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
