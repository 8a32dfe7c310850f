import { PeerFailure } from "../../peer-failure.ts";
import { type Instant, plus } from "../../time.ts";
import type { ConnectorDeps } from "../deps.ts";
import { isTooLateFor } from "../model/credential.ts";
import { backOffMs } from "../model/intervals.ts";
import { enrollmentId } from "../model/key-ids.ts";
import type { CredentialRequest, SecurityKey } from "../model/request.ts";
import { afterEvent, endWaiting, withRollUp } from "../model/roll-up.ts";
import type { Outcome, Step } from "../model/step.ts";
import { requireRfpr } from "../peers/enrollment-side.ts";
import type { Enrollment } from "../peers/rfpr-wire.ts";
import { decodeKey } from "./decode-key.ts";

/**
 * Asks the enrollment side for one authenticator and takes over what came (decisions C11, C12, C15): credentials whose response opens,
 * is signed and answers this request become `activation_pending`.
 * @param stoppedUntil the enrollment side is throttling: no poll before then
 */
export function pollAuthenticator(
  request: CredentialRequest,
  stoppedUntil: Instant | undefined,
  deps: ConnectorDeps,
): Step {
  if (stoppedUntil !== undefined) return { change: polledAt(stoppedUntil) };
  return {
    intent: key => key,
    timeLimitMs: deps.intervals.enrollmentCall,
    perform: async key => {
      try {
        const isTooLate = isTooLateFor(key, request, deps);
        const enrollment = isTooLate ? undefined : await requireRfpr(deps).get(enrollmentId(request.id, key.id));
        return await takeOver(request, key, enrollment, deps);
      } catch (error) {
        if (!(error instanceof PeerFailure)) throw error;
        return failed(key.id, error, deps);
      }
    },
  };
}

/** @param enrollment absent: every challenge of the authenticator has expired, so the enrollment side was not asked */
async function takeOver(
  request: CredentialRequest,
  key: SecurityKey,
  enrollment: Enrollment | undefined,
  deps: ConnectorDeps,
): Promise<Outcome> {
  const { now, log } = deps;
  if (enrollment?.state === "waiting") return { change: polledLater(deps) };
  if (enrollment !== undefined) log.info("enrollment_ended", { keyId: key.id, outcome: enrollment.state });
  if (enrollment?.state === "cancelled") {
    const reason = enrollment.message ?? "The enrollment was cancelled on site.";
    return { change: current => endWaiting(current, "cancelled", reason, now()) };
  }
  if (enrollment?.state === "failed") {
    const reason = enrollment.message ?? "The authenticator could not be enrolled.";
    return { change: current => endWaiting(current, "not_enrolled", reason, now()) };
  }
  const { apply } = await decodeKey(request, key, enrollment?.responses, deps);
  const decoded = (current: SecurityKey) => apply(polledLater(deps)(current));
  return { change: enrollment === undefined ? decoded : current => withoutUnmade(decoded(current), enrollment, now()) };
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

function failed(keyId: string, error: PeerFailure, deps: ConnectorDeps): Outcome {
  const { now, log } = deps;
  log.warn("enrollment_poll_failed", { keyId, error });
  if (error.kind === "unauthorized") return { change: key => key, tripped: { refused: true } };
  if (error.status === 410 && error.code !== undefined) {
    const reason = "The authenticator was deleted at the enrollment side.";
    return { change: key => endWaiting(key, "cancelled", reason, now()) };
  }
  const message = `The enrollment side did not answer: ${error.message}`;
  if (error.kind !== "throttled") return { change: polledLater(deps, message) };
  const stoppedUntil = plus(now(), Math.max(1, error.retryAfter ?? 60) * 1000);
  return { change: key => withMessage(polledAt(stoppedUntil)(key), message), tripped: { stoppedUntil } };
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
