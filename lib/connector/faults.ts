import { Fault } from "../platform/fault.ts";
import { PeerFailure } from "../platform/peer-failure.ts";
import type { Claim, FinalVerdict } from "./model/idempotency.ts";
import { isNoToken } from "./peers/access-token.ts";

export const internalFault = (cause: unknown): Fault => new Fault("internal", "Internal error.", { cause });

/** Returns the fault of a call for which a peer rejected the connector's credentials. */
export const unauthorizedFault = (cause: PeerFailure, peer = cause.peer): Fault =>
  new Fault("internal", `The ${peer} rejected the connector's credentials.`, { cause });

/**
 * Returns the fault of a call that a peer did not answer.
 * @param consequence what this means for the caller, if it is not clear from the call
 */
export function unavailableFault(
  cause: PeerFailure,
  { peer = cause.peer, consequence }: { readonly peer?: string; readonly consequence?: string } = {},
): Fault {
  const message = [`The ${peer} is not responding`, ...(consequence === undefined ? [] : [consequence])].join("; ");
  return new Fault("unavailable", `${message}.`, { retryAfterSeconds: cause.retryAfterSeconds ?? 30, cause });
}

const nothingOrdered = { consequence: "nothing was ordered" };
const cancelContinues = { consequence: "a job continues the cancel" };

/** Returns the fault of a create that took too long. */
export const tooLateFault = (): Fault =>
  new Fault("unavailable", "The request took too long; nothing was ordered.", { retryAfterSeconds: 30 });

/** Returns the fault of a create whose order intent storage did not answer: nothing was ordered. */
export const intentFault = (cause: Fault): Fault =>
  new Fault("unavailable", "Storage is not responding; nothing was ordered.", {
    ...(cause.retryAfterSeconds !== undefined && { retryAfterSeconds: cause.retryAfterSeconds }),
    cause,
  });

/** Returns the fault of a create whose transport keys cannot be read: the shipment was not refused. */
export function transportKeysFault(error: unknown): Fault {
  if (error instanceof PeerFailure && error.isTransient) return unavailableFault(error, nothingOrdered);
  return new Fault("internal", "The delivery service's transport keys cannot be read.", { cause: error });
}

/** Returns the fault of a create whose order the delivery service refused or did not receive. */
export function orderFault(error: PeerFailure): Fault {
  if (error.kind === "unauthorized") return unauthorizedFault(error);
  if (!error.mayComeFromProxy && error.kind !== "throttled" && isClientError(error.status)) {
    const message = error.detail ?? "The delivery service refused the shipment.";
    return new Fault("delivery_refused", message, { data: { code: error.code ?? "refused", message }, cause: error });
  }
  return unavailableFault(error, nothingOrdered);
}

const isClientError = (status = 0): boolean => status >= 400 && status < 500;

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
  if (error.kind === "unauthorized") return unauthorizedFault(error);
  if (error.kind === "refused" && error.status !== 409) {
    const detail = error.detail === undefined ? "" : `: ${error.detail}`;
    const message = `The pre-registration API refused authenticator ${position}${detail}`;
    return new Fault("invalid", message, { cause: error });
  }
  return error.isTransient || error.mayComeFromProxy ? unavailableFault(error, nothingOrdered) : internalFault(error);
}

/** Returns the fault of a cancel whose shipment the delivery service did not delete. */
export function deletionFault(error: PeerFailure): Fault {
  if (error.isUnknownThere)
    return new Fault("conflict", "The delivery service does not know the shipment.", { cause: error });
  if (error.kind === "refused") return tooLateToDelete(error);
  return error.kind === "unauthorized" ? unauthorizedFault(error) : unavailableFault(error);
}

/** Returns the fault of a cancel whose shipment is in production. */
export const tooLateToDelete = (cause: PeerFailure): Fault =>
  new Fault("conflict", "The delivery service can no longer delete the shipment.", { cause });

/** Returns the fault of a cancel that a job continues, because a peer, storage or Key Vault failed. */
export function cancelFault(cause: unknown): Fault {
  if (cause instanceof Fault) return cause;
  if (!(cause instanceof PeerFailure)) return internalFault(cause);
  return cause.kind === "unauthorized" ? unauthorizedFault(cause) : unavailableFault(cause, cancelContinues);
}

/** Returns the fault of a create while it is not known whether the order was accepted. */
export const unreconciledFault = (requestId: string, cause?: unknown): Fault =>
  new Fault("internal", "It is not known whether the shipment was ordered; ask for the credential request later.", {
    data: { credential_request_id: requestId },
    cause,
  });

/** The error message of a request while it is not known whether its order was accepted. */
export const unconfirmedMessage = "The delivery service has not confirmed the shipment; it is being looked up.";

/** The error message of a request whose order was never confirmed. */
export const neverConfirmedMessage =
  "The delivery service never confirmed the shipment. Search there for the customer reference before you order again.";

/** Returns the fault of a call whose Idempotency-Key was used before. */
export function claimFault(verdict: FinalVerdict, { requestId }: Claim): Fault {
  const data = { credential_request_id: requestId };
  switch (verdict.is) {
    case "other_body":
      return new Fault("conflict", "The Idempotency-Key was used with another body.");
    case "erased":
      return new Fault("conflict", "The request of this Idempotency-Key was erased.");
    case "cancelled":
      return new Fault("conflict", "The request of this Idempotency-Key was cancelled.", { data });
    case "unreconciled":
      return unreconciledFault(requestId);
    case "never_confirmed":
      return new Fault("internal", verdict.reason, { data });
    case "answered":
      if ("refused" in verdict.answer) {
        const { kind, message, ...details } = verdict.answer.refused;
        return new Fault(kind, message, details);
      }
  }
  return stillRunningFault();
}
export const stillRunningFault = (): Fault =>
  new Fault("conflict", "The first call with this Idempotency-Key is still running.", { retryAfterSeconds: 5 });
