import { PeerFailure } from "../../platform/peer-failure.ts";
import { type Instant, plus } from "../../platform/time.ts";
import type { ConnectorDeps } from "../deps.ts";
import type { Credential } from "../model/credential.ts";
import { preRegistrationApi } from "../model/peer-names.ts";
import type { CredentialRequest } from "../model/request.ts";
import { postpone, type Retry, waitUntil } from "../model/retry.ts";
import { endCredentials, endWaiting } from "../model/roll-up.ts";
import { enrollmentId, isTooLateFor, type SecurityKey } from "../model/security-key.ts";
import { type Enrollment, requireRfpr } from "../peers/rfpr.ts";
import { type CallEnd, type PeerCall, type Step, type StepOutcome, unchanged } from "../runs/step.ts";
import { decodeKey } from "./decode-key.ts";

/**
 * Returns the step that polls the pre-registration API for one authenticator. Credentials whose response opens, has a
 * valid signature and matches this request become `activation_pending`.
 * @param finish returns the step with the outcome. `isTooLate`: the API was not called, because every challenge of the
 * authenticator has expired
 */
export function pollAuthenticator(
  request: CredentialRequest,
  deps: ConnectorDeps,
  finish: (outcome: StepOutcome, key: SecurityKey, isTooLate: boolean) => Step,
): PeerCall {
  return {
    intent: same => same,
    peer: preRegistrationApi,
    timeLimitMs: deps.intervals.enrollmentCallMs,
    perform: async (key): Promise<CallEnd> => {
      const isTooLate = isTooLateFor(key, request, deps);
      try {
        const enrollment = isTooLate ? undefined : await requireRfpr(deps).get(enrollmentId(request.id, key.id));
        const outcome = await applyEnrollment(request, key, enrollment, deps);
        return { next: () => finish(outcome, key, isTooLate), isWithoutCall: isTooLate };
      } catch (error) {
        if (!(error instanceof PeerFailure)) throw error;
        const outcome = afterFailure(key.id, error, deps);
        const isUnauthorized = error.kind === "unauthorized";
        return { next: () => finish(outcome, key, false), failure: error, isUnauthorized };
      }
    },
  };
}

/**
 * Returns the outcome of a poll.
 * @param enrollment undefined if the pre-registration API was not called, because every challenge of the authenticator
 * has expired
 */
async function applyEnrollment(
  request: CredentialRequest,
  key: SecurityKey,
  enrollment: Enrollment | undefined,
  deps: ConnectorDeps,
): Promise<StepOutcome> {
  const { now, log } = deps;
  if (enrollment?.state === "waiting") return { change: pollAgain(deps) };
  if (enrollment !== undefined) log.info("enrollment_ended", { keyId: key.id, outcome: enrollment.state });
  if (enrollment?.state === "cancelled") {
    const reason = enrollment.message ?? "The enrollment was cancelled on site.";
    return { change: endCancelled(reason, deps) };
  }
  if (enrollment?.state === "failed") {
    const reason = enrollment.message ?? "The authenticator could not be enrolled.";
    return { change: current => endWaiting(current, "not_enrolled", reason, now()) };
  }
  const { apply } = await decodeKey(request, key, enrollment?.responses, deps);
  const decoded = (current: SecurityKey) => apply(pollAgain(deps)(current));
  return {
    change: enrollment === undefined ? decoded : current => withMissingEnded(decoded(current), enrollment, now()),
  };
}

/** Ends the credentials without a response: credentials that were not made at the enrollment are not made later. */
function withMissingEnded(key: SecurityKey, { responses, message }: Enrollment, now: Instant): SecurityKey {
  const reason = message ?? "The credential could not be made on the authenticator.";
  const isMissing = ({ state }: Credential, index: number) =>
    state === "processing" && (responses.credentials[index] ?? "") === "";
  return endCredentials(key, isMissing, { event: "not_enrolled", reason }, now);
}

/** Returns the outcome of a poll that failed. */
function afterFailure(keyId: string, error: PeerFailure, deps: ConnectorDeps): StepOutcome {
  const { now, log } = deps;
  log.warn("enrollment_poll_failed", { keyId, error });
  if (error.kind === "unauthorized") return unchanged;
  if (error.status === 410 && error.code !== undefined) {
    const reason = "The authenticator was deleted at the pre-registration API.";
    return { change: endCancelled(reason, deps) };
  }
  const lastError = `The enrollment could not be read: ${error.message}`;
  if (error.kind !== "throttled")
    return { change: pollAgain(deps, { lastError, retryAfterSeconds: error.retryAfterSeconds }) };
  const nextAt = plus(now(), Math.max(1, error.retryAfterSeconds ?? 60) * 1000);
  return { change: key => withPoll(key, waitUntil(nextAt, key.enrollment, lastError)) };
}

/**
 * Returns the change that ends the credentials as cancelled. What a cancel of the connector has cancelled is ended by
 * the cancel, after it has compensated at the IdPs: it may have begun while the call of the poll was under way.
 */
const endCancelled =
  (reason: string, deps: Pick<ConnectorDeps, "now" | "intervals">): StepOutcome["change"] =>
  (key, { cancelling }) =>
    cancelling === undefined ? endWaiting(key, "cancelled", reason, deps.now()) : pollAgain(deps)(key);

/** Returns the change that schedules the next poll after a back-off, and not before the peer's Retry-After. */
export const pollAgain =
  ({ now, intervals }: Pick<ConnectorDeps, "now" | "intervals">, failure: Parameters<typeof postpone>[3] = {}) =>
  (key: SecurityKey): SecurityKey =>
    withPoll(key, postpone(key.enrollment ?? { attempts: 0 }, now(), intervals.enrollmentPoll, failure));

/** Returns the security key with its next poll. The problems of the previous poll are removed. */
const withPoll = (key: SecurityKey, enrollment: Retry): SecurityKey => ({
  ...key,
  enrollment,
  credentials: key.credentials.map(credential => {
    if (credential.state !== "processing") return credential;
    const { errorMessage, ...waiting } = credential;
    return waiting;
  }),
});
