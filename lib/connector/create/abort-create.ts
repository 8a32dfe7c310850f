import { toResult } from "../../platform/async/to-result.ts";
import type { Fault } from "../../platform/fault.ts";
import type { Instant } from "../../platform/time.ts";
import type { ConnectorDeps, LoadedRequest } from "../deps.ts";
import { withSealedIdpStates } from "../exchange/sealed-idp-state.ts";
import type { CredentialRequest, SecurityKey } from "../model/request.ts";
import { compensate } from "../recovery/compensate.ts";
import { failedRequest, withoutOrderIntent } from "../recovery/fail-request.ts";
import { type Challenges, type IdpAnswers, isUnanswered } from "../recovery/idp-answers.ts";
import { securityKeysOf } from "../storage/loaded-request.ts";
import { saveChanges } from "../storage/save-changes.ts";
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
  const { id, delivery } = loaded.request.value;
  const keys = securityKeysOf(loaded).map(key => withIdpStates(key, idpAnswers.challenges));
  try {
    const compensated = await toResult(compensate(id, keys, deps, idpAnswers));
    if ("error" in compensated)
      deps.log.warn("compensation_failed", { credentialRequestId: id, error: compensated.error });
    const isCompensated = "value" in compensated && !mayBeginLate(keys, idpAnswers, deps);
    const sealed = isCompensated ? [] : await Promise.all(keys.map(key => withSealedIdpStates(id, key, deps.sealer)));
    const aborted = (current: LoadedRequest) => {
      // After a conflict with the job, or with the create handler's own write: only the handler knows that nothing was ordered.
      if (current !== loaded && !isOpen(current, delivery?.sentAt)) return undefined;
      if (isCompensated) return failedRequest(current, fault.message, deps.now());
      const request = { ...withoutOrderIntent(current.request.value), errorMessage: fault.message };
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
  const { state, delivery } = request.value;
  return state === "received" && (delivery?.sentAt ?? intentAt) === intentAt && delivery?.shipmentId === undefined;
};

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

/**
 * Aborts a create whose order intent was not answered by storage: the write may have succeeded, or may take effect late, but nothing was
 * ordered. Reads the request and ends it by the version read, so that a late write conflicts. If storage cannot be read, a job ends the
 * request. Returns `fault`, for the caller to throw.
 * @param unsaved the request and keys as they were to be written
 */
export async function abortInDoubt(
  unsaved: { readonly request: CredentialRequest; readonly keys: readonly SecurityKey[] },
  fault: Fault,
  deps: ConnectorDeps,
): Promise<Fault> {
  const { id, delivery } = unsaved.request;
  deps.log.warn("write_in_doubt", { credentialRequestId: id, error: fault });
  const stored = await toResult(deps.requests.load(id));
  if ("error" in stored || stored.value === undefined || !isOpen(stored.value, delivery?.sentAt)) return fault;
  const { request, keys } = stored.value;
  const asWritten = {
    request: { ...request, value: unsaved.request },
    keys: keys.map(({ etag, value }) => ({ etag, value: unsaved.keys.find(({ id }) => id === value.id) ?? value })),
  };
  return abortCreate(asWritten, fault, deps);
}
