import { Fault } from "../fault.ts";
import { PeerFailure } from "./peers/peer-failure.ts";

/** What the caller is told when the keys to encrypt to can not be had: it is not the shipment that is refused. */
export function transportFault(error: unknown): Fault {
  if (error instanceof PeerFailure && error.passing) return awayFault(error);
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
  return awayFault(error);
}

export const isClientError = (status = 0): boolean => status >= 400 && status < 500;

const awayFault = (error: PeerFailure): Fault =>
  new Fault("unavailable", "The delivery service does not answer now; nothing was ordered.", {
    retryAfter: error.retryAfter ?? 30,
    cause: error,
  });
