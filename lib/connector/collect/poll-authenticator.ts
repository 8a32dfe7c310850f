import { orFailure, PeerFailure } from "../../platform/peer-failure.ts";
import { type Instant, plus } from "../../platform/time.ts";
import type { ConnectorDeps } from "../deps.ts";
import type { Credential } from "../model/credential.ts";
import { preRegistrationApi } from "../model/peer-names.ts";
import type { CredentialRequest } from "../model/request.ts";
import { postpone, type Retry, waitUntil } from "../model/retry.ts";
import { endCredentials, endWaiting } from "../model/roll-up.ts";
import { enrollmentId, isTooLateFor, type SecurityKey } from "../model/security-key.ts";
import { type Enrollment, requireRfpr } from "../peers/rfpr.ts";
import type { KeyChange, KeyWork } from "../runs/key-work.ts";
import { notCalled } from "../runs/run.ts";
import { decodeKey } from "./decode-key.ts";

/**
 * Polls the pre-registration API for one authenticator. Credentials whose response opens, has a valid signature and
 * matches this request become `activation_pending`. If every challenge has expired, the API is not called.
 */
export async function pollAuthenticator(work: KeyWork): Promise<KeyChange | undefined> {
  const { key, run } = work;
  const { request } = work.loaded;
  const isTooLate = isTooLateFor(key, request, run);
  const call = { peer: preRegistrationApi, timeLimitMs: run.intervals.enrollmentCallMs, kind: "poll" } as const;
  const get = () => requireRfpr(run).get(enrollmentId(request.id, key.id));
  const enrollment = isTooLate ? undefined : await work.call(call, get);
  if (enrollment === notCalled) return undefined;
  if (enrollment instanceof PeerFailure) return afterFailure(key.id, enrollment, run);
  // The service has answered, so responses that are missing do not count as its failure in the run.
  const incomplete = checkComplete(enrollment, key);
  if (incomplete !== undefined) return afterFailure(key.id, incomplete, run);
  const change = await orFailure(applyEnrollment(request, key, enrollment, run));
  if (!(change instanceof PeerFailure)) return change;
  // Only the signing keys could not be read, so the authenticator is polled again.
  run.log.warn("signing_keys_unread", { keyId: key.id, error: change });
  return pollAfter("The key maker's signing keys", change, run);
}

/**
 * Returns the change after a poll. Throws PeerFailure if the signing keys cannot be read.
 * @param enrollment undefined if the pre-registration API was not called, because every challenge of the authenticator
 * has expired
 */
async function applyEnrollment(
  request: CredentialRequest,
  key: SecurityKey,
  enrollment: Enrollment | undefined,
  deps: ConnectorDeps,
): Promise<KeyChange> {
  const { now, log } = deps;
  if (enrollment?.state === "waiting") return pollAgain(deps);
  if (enrollment !== undefined) log.info("enrollment_ended", { keyId: key.id, outcome: enrollment.state });
  if (enrollment?.state === "cancelled")
    return endCancelled(enrollment.message ?? "The enrollment was cancelled on site.", deps);
  if (enrollment?.state === "failed") {
    const reason = enrollment.message ?? "The authenticator could not be enrolled.";
    return current => endWaiting(current, "not_enrolled", reason, now());
  }
  const { apply } = await decodeKey(request, key, enrollment?.responses, deps);
  return current => {
    const decoded = apply(pollAgain(deps)(current));
    return enrollment === undefined ? decoded : withMissingEnded(decoded, enrollment, now());
  };
}

/** Ends the credentials without a response: credentials that were not made at the enrollment are not made later. */
function withMissingEnded(key: SecurityKey, { responses, message }: Enrollment, now: Instant): SecurityKey {
  const reason = message ?? "The credential could not be made on the authenticator.";
  const isMissing = ({ state }: Credential, index: number) =>
    state === "processing" && (responses.credentials[index] ?? "") === "";
  return endCredentials(key, isMissing, { event: "not_enrolled", reason }, now);
}

/**
 * Returns the failure of an enrollment that is completed without an element for each credential, which ends none: only
 * an element `null` says that its credential was not made. Returns undefined for any other enrollment.
 */
function checkComplete(enrollment: Enrollment | undefined, { credentials }: SecurityKey): PeerFailure | undefined {
  if (enrollment?.state !== "completed") return undefined;
  const { length } = enrollment.responses.credentials;
  if (length === credentials.length) return undefined;
  const cause = new Error(`Number of credentials: ${credentials.length}; number of their responses: ${length}.`);
  return new PeerFailure(preRegistrationApi, "get authenticator", "unanswered", { cause });
}

/** Returns the change after a poll that failed. */
function afterFailure(keyId: string, error: PeerFailure, deps: ConnectorDeps): KeyChange {
  deps.log.warn("enrollment_poll_failed", { keyId, error });
  if (error.kind === "unauthorized") return key => key;
  if (error.status === 410 && error.code !== undefined)
    return endCancelled("The authenticator was deleted at the pre-registration API.", deps);
  return pollAfter("The enrollment", error, deps);
}

/** Returns the change that schedules the next poll after a failure: if a peer throttles, at its Retry-After. */
function pollAfter(what: string, error: PeerFailure, deps: ConnectorDeps): KeyChange {
  const lastError = `${what} could not be read: ${error.message}`;
  const { retryAfterSeconds } = error;
  if (error.kind !== "throttled") return pollAgain(deps, { lastError, retryAfterSeconds });
  const nextAt = plus(deps.now(), Math.max(1, retryAfterSeconds ?? 60) * 1000);
  return key => withPoll(key, waitUntil(nextAt, key.enrollment, lastError));
}

/**
 * Returns the change that ends the credentials as cancelled. What a cancel of the connector has cancelled is ended by
 * the cancel, after it has compensated at the IdPs: it may have begun while the call of the poll was under way.
 */
const endCancelled =
  (reason: string, deps: ConnectorDeps): KeyChange =>
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
