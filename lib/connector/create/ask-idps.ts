import { Fault, invalidRequest } from "../../platform/fault.ts";
import { PeerFailure } from "../../platform/peer-failure.ts";
import { plus } from "../../platform/time.ts";
import type { ConnectorDeps } from "../deps.ts";
import { internalFault, peerFault, tooLateFault } from "../faults.ts";
import type { Idp } from "../idp/contract.ts";
import { optionsRequestOf, unusableOptions } from "../idp/creation-options.ts";
import type { LoadedRequest } from "../model/loaded-request.ts";
import { isNoToken } from "../peers/access-token.ts";
import type { OptionsResponses } from "../recovery/compensate.ts";
import { challengeProblem, endsBeforePoll, isShortened } from "./check-challenge.ts";
import { notConfigured } from "./check-request.ts";
import type { RequestDraft } from "./draft.ts";
import { forEachLimited } from "./for-each-limited.ts";

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
    if (isShortened(challenge)) warn("challenge_shortened", idp, { expiresAt, askedExpiry });
    if (endsBeforePoll(challenge, key, deps)) warn("challenge_before_poll", idp, { expiresAt });
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
