import type { Instant } from "../../platform/time.ts";
import { pollAuthenticator } from "../collect/poll-authenticator.ts";
import { removeResponsesIfDeleted } from "../collect/save-poll.ts";
import type { ConnectorDeps } from "../deps.ts";
import { isRevoking } from "../model/credential.ts";
import { type LoadedRequest, securityKeyOf } from "../model/loaded-request.ts";
import { releaseLease } from "../model/next-due.ts";
import { type CredentialRequest, isSameDue } from "../model/request.ts";
import type { Retry } from "../model/retry.ts";
import { isWaiting, type SecurityKey } from "../model/security-key.ts";
import { measureUnsentMail } from "../pin/mail-outcomes.ts";
import { sendPinMail } from "../pin/send-pin-mail.ts";
import { forEachDue, logAndContinue } from "../runs/queue.ts";
import { isDue, isLeasedByAnother, isPastDeadline, type Run } from "../runs/run.ts";
import { runStep, type Step, unchanged } from "../runs/step.ts";
import { activateCredential } from "../activate/activate-credential.ts";
import { compensateEnded } from "../activate/compensate-ended.ts";
import { revokeCredential } from "../activate/revoke-credential.ts";

/** Returns the counts of a run, by the state of the credentials that it has processed. */
export const newKeyCounts = () => ({ processed: 0, activated: 0, failed: 0, pending: 0 });

type KeyCounts = ReturnType<typeof newKeyCounts>;

/**
 * Processes the due security keys of a queue: polls authenticators, revokes and activates credentials and sends PIN
 * emails. Returns the number of requests that were deferred or not finished, because the time of the run ended or a
 * peer was not to be called.
 */
export const processSecurityKeys = (
  queue: "key" | "shipment_key",
  run: Run,
  deps: ConnectorDeps,
  counts: KeyCounts,
): Promise<number> =>
  forEachDue(queue, run, deps, async (start, entries) => {
    let loaded = start;
    let hasDeferred = false;
    for (const { keyId } of entries) {
      if (keyId === undefined) continue;
      if (isPastDeadline(run, deps)) return true;
      try {
        const result = await processSecurityKey(loaded, keyId, run, deps, counts);
        loaded = result.loaded;
        hasDeferred ||= result.isDeferred;
      } catch (error) {
        logAndContinue(error, { queue, run: run.owner, keyId }, deps);
        loaded = (await deps.requests.load(loaded.request.id)) ?? loaded;
      }
    }
    return hasDeferred;
  });

/**
 * Does the due work of one security key: polls a waiting authenticator, revokes and activates credentials one after
 * another in array order, and sends the PIN email. A credential that must wait, or whose IdP must not be called, does
 * not delay the next one. Stops if the lease is lost. When the time of the run is over, starts no further step and
 * releases the lease.
 * @param counts counts the credentials that were processed
 */
export async function processSecurityKey(
  start: LoadedRequest,
  keyId: string,
  run: Run,
  deps: ConnectorDeps,
  counts = newKeyCounts(),
): Promise<{ readonly loaded: LoadedRequest; readonly isDeferred: boolean }> {
  const processed = new Set<number>();
  let loaded = start;
  let isDeferred = false;
  const current = () => securityKeyOf(loaded, keyId);
  /** Returns whether a step was done, was `deferred` to a later run, or was not saved because the lease is lost. */
  const doStep = async (step: Step, isMoreDue?: (key: SecurityKey) => boolean) => {
    const result = await runStep({ loaded, keyId, run }, step, deps, isMoreDue);
    if (result === undefined) return "lost";
    loaded = result.loaded;
    isDeferred ||= result.isDeferred;
    return result.isDeferred ? "deferred" : "done";
  };
  const result = () => {
    measureUnsentMail(current(), deps.now());
    countCredentials(counts, current(), processed);
    return { loaded, isDeferred };
  };
  /** Saves the security key without a change. This releases the lease and rewrites the index of due work. */
  const release = async () => {
    await doStep(unchanged);
    return result();
  };
  const end = () => (current().lease?.owner === run.owner ? release() : result());
  const defer = () => {
    isDeferred = true;
    return end();
  };
  if (isLeasedByAnother(current().lease, run, deps.now())) return result();

  if (isPollDue(current(), run, deps)) {
    const polled = waitingOf(current());
    const isMoreDue = (key: SecurityKey) => dueCredentials(key, run, deps).length > 0 || isMailDue(key, run, deps);
    const done = await doStep(pollOnSite(loaded.request, deps), isMoreDue);
    if (done === "lost") {
      await removeResponsesIfDeleted(loaded.request.id, deps);
      return result();
    }
    if (done === "done") for (const index of polled) processed.add(index);
  }
  const due = dueCredentials(current(), run, deps);
  for (const each of due) {
    if (isPastDeadline(run, deps)) return defer();
    const { index, begin } = each;
    const step = await begin({ requestId: loaded.request.id, key: current(), index }, deps);
    const isMoreDue = (key: SecurityKey) => each !== due.at(-1) || isMailDue(key, run, deps);
    const done = await doStep(step, isMoreDue);
    if (done === "lost") return result();
    if (done === "done" && begin === activateCredential) processed.add(index);
  }
  if (isMailDue(current(), run, deps)) {
    if (isPastDeadline(run, deps)) return defer();
    if ((await doStep(await sendPinMail({ loaded, key: current() }, deps))) === "lost") return result();
  } else if (loaded === start && !isSameDue(releaseLease(current(), deps).due, current().due)) {
    // Another process stopped while it had the lease, and a cancel ended the work: only this run can remove the key
    // from the queue.
    return release();
  }
  return end();
}

/** Returns the step that polls an authenticator, and compensates at the IdPs for the credentials that this ends. */
const pollOnSite = (request: CredentialRequest, deps: ConnectorDeps): Step =>
  pollAuthenticator(request, deps, (outcome, key, isTooLate) =>
    compensateEnded({ request, key, outcome, isTooLate }, deps),
  );

const waitingOf = ({ credentials }: SecurityKey): readonly number[] =>
  [...credentials.keys()].filter(index => credentials[index]?.state === "processing");

const isPollDue = (key: SecurityKey, run: Run, { now }: ConnectorDeps): boolean =>
  key.enrollment !== undefined && isWaiting(key) && isRetryDue(key.enrollment, run, now());

/** Returns the due credentials with their work: revocations first, because a lost key may be misused. */
function dueCredentials({ credentials }: SecurityKey, run: Run, { now }: ConnectorDeps) {
  const all = [...credentials.entries()];
  const revocations = all
    .filter(([, credential]) => isRevoking(credential) && isRetryDue(credential.revocation?.retry, run, now()))
    .map(([index]) => ({ index, begin: revokeCredential }));
  const activations = all
    .filter(([, credential]) => credential.state === "activation_pending" && isRetryDue(credential.retry, run, now()))
    .map(([index]) => ({ index, begin: activateCredential }));
  return [...revocations, ...activations];
}

const isMailDue = ({ mail }: SecurityKey, run: Run, { now }: ConnectorDeps): boolean =>
  mail.state === "due" && isRetryDue(mail.retry, run, now());

const isRetryDue = (retry: Retry | undefined, run: Run, now: Instant): boolean =>
  retry === undefined || isDue({ ...retry, at: retry.nextAt }, run, now);

function countCredentials(counts: KeyCounts, key: SecurityKey, processed: ReadonlySet<number>): void {
  counts.processed += processed.size;
  for (const index of processed) {
    const state = key.credentials[index]?.state;
    if (state === "active") counts.activated++;
    else if (state === "failed") counts.failed++;
    else if (state === "activation_pending" || state === "processing") counts.pending++;
  }
}
