import { toResult } from "../../platform/async.ts";
import type { Fault } from "../../platform/fault.ts";
import { type Instant, plus } from "../../platform/time.ts";
import type { ConnectorDeps } from "../deps.ts";
import { tooLateFault } from "../faults.ts";
import type { Changes, LoadedRequest } from "../model/loaded-request.ts";
import type { SecurityKey } from "../model/security-key.ts";
import { compensate, compensateAtIdps, type OptionsResponses } from "../recovery/compensate.ts";
import { failedRequest, withoutOrderIntent } from "../recovery/fail-request.ts";
import { saveChanges } from "../runs/change-request.ts";
import { idpStatePurpose, seal } from "../storage/sealed.ts";

/**
 * Compensates the completed steps of a create and ends the request as failed. If compensation fails, saves the request
 * without its order intent, with the reason and the IdP states, so that the job compensates it later. Returns `fault`,
 * for the caller to throw.
 * @param responses those of the IdPs that are not stored yet
 */
export async function abortCreate(
  loaded: LoadedRequest,
  fault: Fault,
  deps: ConnectorDeps,
  responses: OptionsResponses = new Map(),
): Promise<Fault> {
  const { id, delivery } = loaded.request;
  const keys = loaded.keys;
  try {
    const compensated = await toResult(compensate(id, keys, deps, responses));
    if ("error" in compensated)
      deps.log.warn("compensation_failed", { credentialRequestId: id, error: compensated.error });
    const isCompensated = "value" in compensated && !mayBeginLate(responses, deps);
    const sealed = isCompensated ? [] : await Promise.all(keys.map(key => withIdpStates(id, key, responses, deps)));
    const aborted = (current: LoadedRequest) => {
      // After a conflict with the job, or with the create handler's own write: only the handler knows that nothing was
      // ordered.
      if (current !== loaded && !isOpen(current, delivery?.sentAt)) return undefined;
      if (isCompensated) return failedRequest(current, fault.message, deps.now());
      const request = { ...withoutOrderIntent(current.request), errorMessage: fault.message };
      return { request, keys: sealed };
    };
    await saveChanges(loaded, aborted, deps);
  } catch (error) {
    deps.log.error("abort_failed", { credentialRequestId: id, error });
  }
  return fault;
}

/** Whether a request is not started, and has no order intent or the one of the create handler. */
const isOpen = ({ request }: LoadedRequest, intentAt: Instant | undefined): boolean => {
  const { state, delivery } = request;
  return state === "received" && (delivery?.sentAt ?? intentAt) === intentAt && delivery?.shipment === undefined;
};

/** Whether an IdP may still process an unanswered call: the job then compensates again, when it is over. */
const mayBeginLate = (responses: OptionsResponses, { idps }: ConnectorDeps): boolean =>
  [...responses].some(
    ([{ idpId }, response]) => response === "unanswered" && idps.get(idpId)?.compensateUnanswered !== undefined,
  );

/** Returns the security key with the IdP states of the responses, sealed. */
async function withIdpStates(
  requestId: string,
  key: SecurityKey,
  responses: OptionsResponses,
  { sealer }: Pick<ConnectorDeps, "sealer">,
): Promise<SecurityKey> {
  const credentials = key.credentials.map(async (credential, index) => {
    const challenge = responses.get(credential);
    if (typeof challenge !== "object") return credential;
    const context = { requestId, keyId: key.id, purpose: idpStatePurpose(index) };
    return { ...credential, idpState: await seal(challenge.idpState, context, sealer) };
  });
  return { ...key, credentials: await Promise.all(credentials) };
}

/**
 * Saves a request from its create handler. Returns undefined if the create took too long, or if the job has taken the
 * request over: the handler stops, and the job continues.
 * @param options as for `RequestStore.save`
 */
export async function saveFromHandler(
  loaded: LoadedRequest,
  changes: Changes & Required<Pick<Changes, "request">>,
  deps: Pick<ConnectorDeps, "requests" | "now" | "intervals">,
  options?: Parameters<ConnectorDeps["requests"]["save"]>[2],
): Promise<LoadedRequest | undefined> {
  const { createdAt } = loaded.request;
  if (deps.now() > plus(createdAt, deps.intervals.createMs)) return undefined;
  return deps.requests.save(loaded, changes, options);
}

/**
 * Compensates at the IdPs for security keys whose rows could not be written, because the job cannot find these
 * registrations. Returns the fault for the caller.
 */
export async function compensateTooLate(
  requestId: string,
  keys: readonly SecurityKey[],
  deps: ConnectorDeps,
): Promise<Fault> {
  const compensated = await toResult(compensateAtIdps(requestId, keys, deps));
  if ("error" in compensated)
    deps.log.warn("compensation_failed", { credentialRequestId: requestId, error: compensated.error });
  return tooLateFault();
}
