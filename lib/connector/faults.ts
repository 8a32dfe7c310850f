import { Fault, type FaultDetails } from "../platform/fault.ts";
import { PeerFailure } from "../platform/peer-failure.ts";
import { isUnusable } from "./idp/creation-options.ts";
import { isNoToken } from "./peers/access-token.ts";

const internalFault = (cause: unknown): Fault => new Fault("internal", "Internal error.", { cause });

/**
 * Returns the fault of a call that a peer did not answer, or for which it rejected the connector's credentials.
 * @param consequence what no answer means for the caller, if it is not clear from the call
 */
function peerFault(
  cause: PeerFailure,
  { peer = cause.peer, consequence }: { readonly peer?: string; readonly consequence?: string } = {},
): Fault {
  if (cause.kind === "unauthorized")
    return new Fault("internal", `The ${peer} rejected the connector's credentials.`, { cause });
  const message = `The ${peer} is not responding${consequence === undefined ? "" : `; ${consequence}`}.`;
  return new Fault("unavailable", message, { retryAfterSeconds: cause.retryAfterSeconds ?? 30, cause });
}

const nothingOrdered = { consequence: "nothing was ordered" };
const cancelContinues = { consequence: "a job continues the cancel" };

/** Returns the fault of a create that took too long. */
export const tooLateFault = (): Fault =>
  new Fault("unavailable", "The request took too long; nothing was ordered.", { retryAfterSeconds: 30 });

/** Returns the fault of a create whose write before the order storage did not answer. */
export const storageFault = (cause: Fault): Fault =>
  new Fault("unavailable", "Storage is not responding; nothing was ordered.", {
    ...(cause.retryAfterSeconds !== undefined && { retryAfterSeconds: cause.retryAfterSeconds }),
    cause,
  });

/** Returns the fault of a create whose transport keys cannot be read: the shipment was not refused. */
export function transportKeysFault(error: unknown): Fault {
  if (error instanceof PeerFailure && error.isTransient) return peerFault(error, nothingOrdered);
  return new Fault("internal", "The delivery service's transport keys cannot be read.", { cause: error });
}

/** Returns the fault of a create for which an IdP returned no creation options. */
export function idpFault(error: unknown, { id }: { readonly id: string }): Fault {
  if (!(error instanceof PeerFailure)) return internalFault(error);
  const peer = `identity provider ${id}`;
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

/** Returns the fault of a create whose order the delivery service refused or did not receive. */
export function orderFault(error: PeerFailure): Fault {
  if (error.kind !== "refused" && error.kind !== "missing") return peerFault(error, nothingOrdered);
  const message = error.detail ?? "The delivery service refused the shipment.";
  return new Fault("delivery_refused", message, { data: { code: error.code ?? "refused", message }, cause: error });
}

/** Returns the fault of a create without an access token for the pre-registration API (specification section 5). */
export const enrollmentTokenFault = (cause: unknown): Fault =>
  new Fault("internal", "The connector could not authenticate toward the enrollment service.", { cause });

/**
 * Returns the fault of a create for which the pre-registration API did not accept an authenticator.
 * @param position of the authenticator in the request, from 1
 */
export function authenticatorFault(error: PeerFailure, position: number): Fault {
  if (isNoToken(error)) return enrollmentTokenFault(error);
  if (error.status === 410) return tooLateFault();
  if (error.kind === "refused" && error.status !== 409) {
    const detail = error.detail === undefined ? "" : `: ${error.detail}`;
    const message = `The pre-registration API refused authenticator ${position}${detail}`;
    return new Fault("invalid", message, { cause: error });
  }
  // A mistake of the connector: the API has another content under the id, or does not know it.
  if (error.kind === "refused" || error.kind === "missing") return internalFault(error);
  return peerFault(error, nothingOrdered);
}

/** Returns the fault of a cancel whose shipment the delivery service did not delete. */
export function deletionFault(error: PeerFailure): Fault {
  if (error.kind === "missing")
    return new Fault("conflict", "The delivery service does not know the shipment.", { cause: error });
  return error.kind === "refused" ? tooLateToDelete(error) : peerFault(error);
}

/** Returns the fault of a cancel whose shipment is in production. */
export const tooLateToDelete = (cause: PeerFailure): Fault =>
  new Fault("conflict", "The delivery service can no longer delete the shipment.", { cause });

/** Returns the fault of a cancel that a job continues, because a peer, storage or Key Vault failed. */
export function cancelFault(cause: unknown): Fault {
  if (cause instanceof Fault) return cause;
  return cause instanceof PeerFailure ? peerFault(cause, cancelContinues) : internalFault(cause);
}

/** Returns the fault of a create, or of its repeat, while it is not known whether the order was accepted. */
export const unreconciledFault = (
  kind: "internal" | "conflict",
  requestId: string,
  details: Pick<FaultDetails, "cause" | "retryAfterSeconds">,
): Fault =>
  new Fault(kind, "It is not known whether the shipment was ordered; ask for the credential request later.", {
    data: { credential_request_id: requestId },
    ...details,
  });

/** The error message of a request from its order intent on. It is true in the call, and after a crash in it. */
export const orderingMessage =
  "The shipment is being ordered. Without an answer of the delivery service it is looked up for 3 days.";

/** The error message of a request while it is not known whether its order was accepted: see `reconcileForMs`. */
export const unconfirmedMessage =
  "The delivery service has not confirmed the shipment; it is being looked up for 3 days. " +
  "Before you order again, search there for the customer reference.";
