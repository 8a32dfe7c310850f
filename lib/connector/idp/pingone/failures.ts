import { PeerFailure } from "../../../platform/peers/peer-failure.ts";
import { undefinedIfGone } from "../gone.ts";
import { deviceCap } from "./wire.ts";

/** PingOne reports the maximum number of devices like throttling, but waiting does not help. */
export function deviceCapAsRefusal(error: unknown): never {
  if (!(error instanceof PeerFailure) || error.code !== deviceCap || error.kind !== "throttled") throw error;
  throw error.as("refused", { retryAfter: undefined });
}

/** A failure before the device is requested leaves no device behind, so none is searched for. */
export function asNothingCreated(error: unknown): never {
  if (!(error instanceof PeerFailure) || error.kind !== "unanswered") throw error;
  throw error.as("unreachable");
}

/** Returns undefined if PingOne reports that the user is gone, ambiguous, or not readable for the client. */
export function undefinedIfRefused(error: unknown): undefined {
  const isRefused = error instanceof PeerFailure && (error.kind === "refused" || error.status === 403);
  if (isRefused && error.code !== undefined) return undefined;
  return undefinedIfGone(error);
}

/**
 * Returns a handler of the error by which the device of unusable creation options was not removed. The call then counts
 * as unanswered, so that the job searches for the device. It keeps its code, so that the caller learns about the
 * options and does not repeat the call (C6).
 */
export const asDeviceLeft =
  (unusable: unknown) =>
  (removalError: unknown): never => {
    if (!(unusable instanceof PeerFailure)) throw unusable;
    throw unusable.as("unanswered", { cause: removalError });
  };
