import { toResult } from "../../async/to-result.ts";
import type { Fault } from "../../fault.ts";
import type { ConnectorDeps, LoadedRequest } from "../deps.ts";
import type { SecurityKey } from "../model/request.ts";
import { compensate } from "../recovery/compensate.ts";
import { failedRequest, withoutOrderIntent } from "../recovery/fail-request.ts";
import { type Challenges, type IdpAnswers, isUnanswered } from "../recovery/idp-answers.ts";
import { securityKeysOf } from "../store/loaded-request.ts";
import { saveChanges } from "../store/save-changes.ts";
import { withSealedIdpStates } from "../store/sealed-idp-state.ts";
import { challengeOf } from "./ask-idps.ts";

/**
 * Compensates the completed steps of a create and ends the request as failed. If compensation fails, saves the request without its order
 * intent, with the reason and the IdP states, so that the job compensates it later. Returns `fault`, for the caller to throw.
 * @param idpAnswers the IdPs' answers that are not stored yet
 */
export async function abortCreate(
  loaded: LoadedRequest,
  fault: Fault,
  deps: ConnectorDeps,
  idpAnswers: IdpAnswers = { challenges: new Map(), unanswered: new Set() },
): Promise<Fault> {
  const { id } = loaded.request.value;
  const keys = securityKeysOf(loaded).map(key => withIdpStates(key, idpAnswers.challenges));
  try {
    const compensated = await toResult(compensate(id, keys, deps, idpAnswers));
    if ("value" in compensated && !mayBeginLate(keys, idpAnswers, deps))
      await failUntilSaved(loaded, fault.message, deps);
    else {
      if ("error" in compensated)
        deps.log.warn("compensation_failed", { credentialRequestId: id, error: compensated.error });
      const request = { ...withoutOrderIntent(loaded.request.value), errorMessage: fault.message };
      const sealed = await Promise.all(keys.map(key => withSealedIdpStates(id, key, deps.sealer)));
      await deps.requests.save(loaded, { request, keys: sealed });
    }
  } catch (error) {
    deps.log.error("abort_failed", { credentialRequestId: id, error });
  }
  return fault;
}

/** Whether an IdP may still process an unanswered call. The job then compensates again, after the call is certain to be over. */
const mayBeginLate = (keys: readonly SecurityKey[], idpAnswers: IdpAnswers, { idps }: ConnectorDeps): boolean =>
  keys.some(({ id, credentials }) =>
    credentials.some(
      ({ idpId }, index) => isUnanswered(idpAnswers, id, index) && idps.get(idpId)?.compensateUnanswered !== undefined,
    ),
  );

const withIdpStates = (key: SecurityKey, challenges: Challenges): SecurityKey => ({
  ...key,
  credentials: key.credentials.map((credential, index) => {
    const idpState = challengeOf(challenges, key.id, index)?.idpState;
    return idpState === undefined ? credential : { ...credential, idpState };
  }),
});

/** Ends the request as failed, and retries on a conflict with the job: only the create handler knows that the delivery service refused. */
async function failUntilSaved(loaded: LoadedRequest, reason: string, deps: ConnectorDeps): Promise<void> {
  const { delivery } = loaded.request.value;
  const failed = (current: LoadedRequest) => {
    const now = current.request.value;
    const isOurs = now.state === "received" && now.delivery?.sentAt === delivery?.sentAt && !now.delivery?.shipmentId;
    return current === loaded || isOurs ? failedRequest(current, reason, deps.now()) : undefined;
  };
  await saveChanges(loaded, failed, deps);
}
