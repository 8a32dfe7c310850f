import { type Instant, plus } from "../../time.ts";
import type { ConnectorDeps, LoadedRequest } from "../deps.ts";
import { PeerFailure } from "../http/failure.ts";
import { isTooLateFor } from "../model/credential.ts";
import { backOffMs } from "../model/intervals.ts";
import { enrollmentId } from "../model/key-ids.ts";
import type { SecurityKey } from "../model/request.ts";
import { afterEvent, endWaiting, withRollUp } from "../model/roll-up.ts";
import { requireRfpr } from "../peers/enrollment-side.ts";
import type { Enrollment } from "../peers/rfpr-wire.ts";
import { conclude, type HeldKey, type KeyHold, renewLease } from "../store/lease.ts";
import { securityKeyOf } from "../store/save-request.ts";
import { decodeKey } from "./decode-key.ts";

/** What a run has learned of the enrollment side as a whole. */
export interface EnrollmentBrake {
  /** No more polls until then: it is throttling. */
  stoppedUntil: Instant | undefined;
  /** No more polls in this run: it does not accept the connector. */
  refused: boolean;
}

/**
 * Asks the enrollment side for one authenticator and takes over what came (decisions C11, C12, C15): credentials whose response opens,
 * is signed and answers this request become `activation_pending`.
 * Returns the request as it now stands, undefined when the hold is lost.
 */
export async function pollAuthenticator(
  hold: KeyHold,
  brake: EnrollmentBrake,
  deps: ConnectorDeps,
): Promise<LoadedRequest | undefined> {
  const { stoppedUntil } = brake;
  if (stoppedUntil !== undefined) return conclude(hold, polledAt(stoppedUntil), deps);
  const held = await renewLease(hold, key => key, deps.intervals.enrollmentCall, deps);
  if (held === undefined) return undefined;
  const request = held.loaded.request.value;
  const key = securityKeyOf(held.loaded, held.keyId);
  try {
    const told = isTooLateFor(key, request, deps)
      ? undefined
      : await requireRfpr(deps).get(enrollmentId(request.id, key.id));
    return await takeOver(held, told, deps);
  } catch (error) {
    if (!(error instanceof PeerFailure)) throw error;
    return failed(held, error, brake, deps);
  }
}

/** @param told absent: whatever came is too late */
async function takeOver(
  held: HeldKey,
  told: Enrollment | undefined,
  deps: ConnectorDeps,
): Promise<LoadedRequest | undefined> {
  const { now, log } = deps;
  if (told?.state === "waiting") return conclude(held, polledLater(deps), deps);
  if (told !== undefined) log.info("enrollment_ended", { keyId: held.keyId, outcome: told.state });
  if (told?.state === "cancelled") {
    const reason = told.message ?? "The enrollment was cancelled on site.";
    return conclude(held, key => endWaiting(key, "cancelled", reason, now()), deps);
  }
  if (told?.state === "failed") {
    const reason = told.message ?? "The authenticator could not be enrolled.";
    return conclude(held, key => endWaiting(key, "not_enrolled", reason, now()), deps);
  }
  const key = securityKeyOf(held.loaded, held.keyId);
  const { apply } = await decodeKey(held.loaded.request.value, key, told?.responses, deps);
  const read = (each: SecurityKey) => apply(polledLater(deps)(each));
  return conclude(held, told === undefined ? read : each => withoutUnmade(read(each), told, now()), deps);
}

/** Credentials that were not made when their authenticator was enrolled will not be made any more. */
function withoutUnmade(key: SecurityKey, { responses, message }: Enrollment, now: Instant): SecurityKey {
  const reason = message ?? "The credential could not be made on the authenticator.";
  const credentials = key.credentials.map((credential, index) =>
    credential.state === "processing" && (responses.credentials[index] ?? "") === ""
      ? afterEvent(credential, "not_enrolled", reason)
      : credential,
  );
  return withRollUp({ ...key, credentials }, now);
}

async function failed(
  held: HeldKey,
  error: PeerFailure,
  brake: EnrollmentBrake,
  deps: ConnectorDeps,
): Promise<LoadedRequest | undefined> {
  const { now, log } = deps;
  log.warn("enrollment_poll_failed", { keyId: held.keyId, error });
  if (error.kind === "unauthorized") {
    if (!brake.refused) log.error("enrollment_refused", {});
    brake.refused = true;
    return conclude(held, key => key, deps);
  }
  if (error.status === 410 && error.code !== undefined) {
    const reason = "The authenticator was deleted at the enrollment side.";
    return conclude(held, key => endWaiting(key, "cancelled", reason, now()), deps);
  }
  const message = `The enrollment side did not answer: ${error.message}`;
  if (error.kind !== "throttled") return conclude(held, polledLater(deps, message), deps);
  const nextAt = plus(now(), Math.max(1, error.retryAfter ?? 60) * 1000);
  brake.stoppedUntil = nextAt;
  return conclude(held, key => withMessage(polledAt(nextAt)(key), message), deps);
}

/** Backs off. What went wrong before is forgotten. */
const polledLater =
  ({ now, intervals: timing }: Pick<ConnectorDeps, "now" | "intervals">, message?: string) =>
  (key: SecurityKey): SecurityKey => {
    const attempts = key.enrollment?.attempts ?? 0;
    const wait = backOffMs(attempts, timing.enrollmentPollAfter, timing.enrollmentPollMax);
    return withMessage({ ...key, enrollment: { attempts: attempts + 1, nextAt: plus(now(), wait) } }, message);
  };

/** The enrollment side names the time. */
const polledAt =
  (nextAt: Instant) =>
  (key: SecurityKey): SecurityKey => ({
    ...key,
    enrollment: { attempts: key.enrollment?.attempts ?? 0, nextAt, held: true },
  });

/** What waits says why. */
const withMessage = (key: SecurityKey, message: string | undefined): SecurityKey => ({
  ...key,
  credentials: key.credentials.map(credential => {
    if (credential.state !== "processing") return credential;
    const { errorMessage, ...waiting } = credential;
    return message === undefined ? waiting : { ...waiting, errorMessage: message };
  }),
});
