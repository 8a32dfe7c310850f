import { toResult } from "../../platform/async.ts";
import { Fault } from "../../platform/fault.ts";
import type { ConnectorDeps } from "../deps.ts";
import type { Changes, LoadedRequest } from "../model/loaded-request.ts";
import type { SecurityKey } from "../model/security-key.ts";
import { compensate, type OptionsResponses } from "../recovery/compensate.ts";
import { failedRequest, withoutOrderIntent } from "../recovery/fail-request.ts";
import { saveChanges } from "../runs/change-request.ts";
import { idpStatePurpose, seal } from "../storage/sealed.ts";

/**
 * Compensates the completed steps of a create that has ordered nothing, and ends the request as failed. If compensation
 * fails, saves the request without its order intent, with the reason and the IdP states, so that the job compensates it
 * later.
 * @param responses those of the IdPs that the security keys do not have yet
 */
export async function abortCreate(
  loaded: LoadedRequest,
  error: unknown,
  deps: ConnectorDeps,
  responses: OptionsResponses = new Map(),
): Promise<void> {
  const { id } = loaded.request;
  const reason = error instanceof Fault ? error.message : "Internal error.";
  try {
    const compensated = await toResult(compensate(id, loaded.keys, deps, responses));
    if ("error" in compensated)
      deps.log.warn("compensation_failed", { credentialRequestId: id, error: compensated.error });
    const isCompensated = "value" in compensated && !mayBeginLate(responses, deps);
    const keys = isCompensated
      ? []
      : await Promise.all(loaded.keys.map(key => withIdpStates(id, key, responses, deps)));
    const aborted = (current: LoadedRequest): Changes | undefined => {
      // After a conflict with the job, or with the create handler's own write. Only the handler writes an order intent,
      // and knows that nothing was ordered.
      const { state, delivery } = current.request;
      if (state !== "received" || delivery?.shipment !== undefined) return undefined;
      const request = withoutOrderIntent(current.request);
      if (isCompensated) return failedRequest({ ...current, request }, reason, deps);
      return { request: { ...request, errorMessage: reason }, keys };
    };
    await saveChanges(loaded, aborted, deps);
  } catch (failure) {
    deps.log.error("abort_failed", { credentialRequestId: id, error: failure });
  }
}

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
