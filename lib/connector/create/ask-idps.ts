import pLimit from "p-limit";
import { Fault, invalidRequest } from "../../platform/fault.ts";
import { PeerFailure } from "../../platform/peer-failure.ts";
import type { Instant } from "../../platform/time.ts";
import type { ConnectorDeps } from "../deps.ts";
import { internalFault, unauthorizedFault, unavailableFault } from "../faults.ts";
import type { Idp } from "../idp/contract.ts";
import { optionsRequestOf, unusableOptions } from "../idp/creation-options.ts";
import { idpName } from "../model/peer-names.ts";
import type { Credential, SecurityKey } from "../model/security-key.ts";
import type { Challenge } from "../model/webauthn.ts";
import { isNoToken } from "../peers/access-token.ts";
import type { OptionsResponses } from "../recovery/compensate.ts";
import { challengeProblem, endsBeforePoll, isShortened } from "./check-challenge.ts";
import { notConfigured } from "./check-request.ts";
import type { RequestDraft } from "./draft.ts";

/** Why there are no usable creation options: the IdP failed or is not configured, or its challenge is unsuitable. */
type AskFailure =
  | { readonly idp: Idp; readonly error: unknown }
  | { readonly unsuitable: string }
  | { readonly notConfigured: { readonly keyId: string; readonly index: number } };

/**
 * Asks the IdP of each credential for creation options, with limited concurrency. Starts no further calls after the
 * first failure.
 * @param until time after which no call is started
 * @returns the responses, and the first failure
 */
export async function askIdps(
  requestId: string,
  keys: readonly SecurityKey[],
  until: Instant,
  deps: Pick<ConnectorDeps, "idps" | "intervals" | "concurrency" | "now" | "log">,
): Promise<{ readonly responses: OptionsResponses; readonly failure?: AskFailure }> {
  const { idps, intervals, concurrency, now } = deps;
  const limit = pLimit(concurrency);
  const responses = new Map<Credential, Challenge | "unanswered">();
  let failure: AskFailure | undefined;
  const logDoubts = doubtLogger(requestId, deps);
  /** Logs what an administrator of the IdP must correct: it concerns every caller. */
  const refuse = (reason: AskFailure, idp: string, detail: string | undefined): void => {
    if (failure === undefined) deps.log.warn("idp_options_refused", { credentialRequestId: requestId, idp, detail });
    failure ??= reason;
  };
  const ask = async (key: SecurityKey, index: number, credential: Credential): Promise<void> => {
    const { id: keyId } = key;
    if (failure !== undefined) return;
    const idp = idps.get(credential.idpId);
    if (idp === undefined) {
      // The IdP file was reloaded after the request was validated.
      failure = { notConfigured: { keyId, index } };
      return;
    }
    if (now() > until) {
      const detail = "The identity providers took too long.";
      failure = { idp, error: new PeerFailure(idpName(idp.id), "creation options", "unanswered", { detail }) };
      return;
    }
    // A running call is not aborted with the others: its answer is needed to compensate the registration that it
    // begins.
    const signal = AbortSignal.timeout(intervals.idpCallMs);
    try {
      const challenge = await idp.creationOptions(optionsRequestOf(requestId, keyId, index, credential), signal);
      // An unusable challenge is kept too: its IdP state is needed to compensate the registration.
      responses.set(credential, challenge);
      const unsuitable = challengeProblem(challenge, key, idp, deps);
      if (unsuitable !== undefined) refuse({ unsuitable }, idp.id, unsuitable);
      logDoubts(idp.id, challenge, key);
    } catch (error) {
      if (error instanceof PeerFailure && error.kind === "unanswered") responses.set(credential, "unanswered");
      if (error instanceof PeerFailure && error.code === unusableOptions) refuse({ idp, error }, idp.id, error.detail);
      failure ??= { idp, error };
    }
  };
  await Promise.all(
    keys.flatMap(key => key.credentials.map((credential, index) => limit(ask, key, index, credential))),
  );
  return { responses, ...(failure && { failure }) };
}

/** Returns a function that logs what is doubtful about a challenge, once for each IdP. */
function doubtLogger(requestId: string, deps: Pick<ConnectorDeps, "intervals" | "now" | "log">) {
  const shortened = new Set<string>();
  const tooEarly = new Set<string>();
  return (idp: string, challenge: Challenge, key: SecurityKey): void => {
    const fields = { credentialRequestId: requestId, idp, expiresAt: challenge.expiresAt };
    if (isShortened(challenge) && !shortened.has(idp)) {
      shortened.add(idp);
      deps.log.warn("challenge_shortened", { ...fields, askedExpiry: challenge.askedExpiry });
    }
    if (endsBeforePoll(challenge, key, deps) && !tooEarly.has(idp)) {
      tooEarly.add(idp);
      deps.log.warn("challenge_before_poll", fields);
    }
  };
}

/** Returns the fault of a create for which an IdP returned no creation options. */
export function idpFault(failure: AskFailure, pathOf: RequestDraft["pathOf"]): Fault {
  if ("notConfigured" in failure) {
    return invalidRequest([{ path: pathOf({ field: "idp", ...failure.notConfigured }), reason: notConfigured }]);
  }
  if ("unsuitable" in failure) return new Fault("idp_refused", failure.unsuitable);
  const { idp, error } = failure;
  if (!(error instanceof PeerFailure)) return internalFault(error);
  const peer = `identity provider ${idp.id}`;
  const detail = error.detail === undefined ? "" : `: ${error.detail}`;
  // Also if it counts as unanswered, because the IdP did not remove what it had begun.
  if (error.code === unusableOptions)
    return new Fault("idp_refused", `The creation options of the ${peer} are not usable${detail}`, { cause: error });
  if (concernsCredential(error))
    return new Fault("idp_refused", `The ${peer} refused the credential${detail}`, { cause: error });
  return error.kind === "unauthorized" ? unauthorizedFault(error, peer) : unavailableFault(error, { peer });
}

/**
 * Whether an IdP refused this user or this permission. 401 and a missing token concern the connector's own credentials.
 * A 403 or 404 without the IdP's own error code may come from a proxy.
 */
const concernsCredential = (failure: PeerFailure): boolean =>
  failure.kind === "refused" ||
  failure.isUnknownThere ||
  (failure.status === 403 && failure.code !== undefined && !isNoToken(failure));
