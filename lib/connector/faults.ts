import { Fault } from "../fault.ts";
import { PeerFailure } from "../peer-failure.ts";
import type { Claim, FinalVerdict } from "./model/idempotency.ts";

/** Returns the fault of a create whose transport keys cannot be read. It does not mean that the shipment was refused. */
export function transportKeysFault(error: unknown): Fault {
  if (error instanceof PeerFailure && error.passing) return unavailableFault(error);
  return new Fault("internal", "The delivery service's transport keys can not be read.", { cause: error });
}

/** Returns the fault of a create whose order the delivery service refused or did not receive. */
export function deliveryFault(error: PeerFailure): Fault {
  if (error.kind === "unauthorized") {
    return new Fault("internal", "The delivery service does not accept the connector.", { cause: error });
  }
  if (error.kind !== "throttled" && isClientError(error.status)) {
    const message = error.detail ?? "The delivery service refused the shipment.";
    return new Fault("delivery_refused", message, { data: { code: error.code ?? "refused", message }, cause: error });
  }
  return unavailableFault(error);
}

export const isClientError = (status = 0): boolean => status >= 400 && status < 500;

const unavailableFault = (error: PeerFailure): Fault =>
  new Fault("unavailable", "The delivery service does not answer now; nothing was ordered.", {
    retryAfter: error.retryAfter ?? 30,
    cause: error,
  });

/** Returns the fault of a create while it is not known whether the order was accepted. */
export const unreconciledFault = (requestId: string, cause?: unknown): Fault =>
  new Fault("internal", "It is not known whether the shipment was ordered; ask for the credential request later.", {
    data: { credential_request_id: requestId },
    cause,
  });

/** The error message of a request while it is not known whether its order was accepted. */
export const unconfirmedMessage = "The delivery service has not confirmed the shipment; it is being looked up.";

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
        const { kind, message, data: refusalData } = verdict.answer.refused;
        return new Fault(kind, message, refusalData && { data: refusalData });
      }
  }
  return stillRunningFault();
}
export const stillRunningFault = (): Fault =>
  new Fault("conflict", "The first call with this Idempotency-Key is still running.", { retryAfter: 5 });
