import { Fault } from "../fault.ts";
import { PeerFailure } from "./http/failure.ts";
import type { Claim, FinalVerdict } from "./model/idempotency.ts";

/** What the caller is told when the keys to encrypt to can not be had: it is not the shipment that is refused. */
export function transportKeysFault(error: unknown): Fault {
  if (error instanceof PeerFailure && error.passing) return unavailableFault(error);
  return new Fault("internal", "The delivery service's transport keys can not be read.", { cause: error });
}

/** What the caller is told when the delivery service said no or could not be asked (decision C6). */
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

/** What the caller is told while nobody knows whether the order was taken (decision C6). */
export const unreconciledFault = (requestId: string, cause?: unknown): Fault =>
  new Fault("internal", "It is not known whether the shipment was ordered; ask for the credential request later.", {
    data: { credential_request_id: requestId },
    cause,
  });

/** What a request says of itself while nobody knows whether its order was taken. */
export const unconfirmedMessage = "The delivery service has not confirmed the shipment; it is being looked up.";

/** What a call is told that meets another's claim. */
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
        const { kind, message, data: told } = verdict.answer.refused;
        return new Fault(kind, message, told && { data: told });
      }
  }
  return stillRunningFault();
}
export const stillRunningFault = (): Fault =>
  new Fault("conflict", "The first call with this Idempotency-Key is still running.", { retryAfter: 5 });
