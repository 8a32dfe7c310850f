import type { Instant } from "../../time.ts";
import { activateCredential } from "../activate/activate-credential.ts";
import { pollAuthenticator } from "../collect/poll-authenticator.ts";
import type { ConnectorDeps, LoadedRequest } from "../deps.ts";
import { isWaiting } from "../model/credential.ts";
import { isSameDue, type SecurityKey } from "../model/request.ts";
import type { Retry } from "../model/retry.ts";
import { measureUnsentMail } from "../pin/measure-unsent-mails.ts";
import { sendPinMail } from "../pin/send-pin-mail.ts";
import { securityKeyOf } from "../store/change-security-key.ts";
import { releaseLease } from "../store/next-due.ts";
import { isDue, isLeasedByAnother, isOver, type Run } from "../store/run.ts";
import { runStep } from "../store/run-step.ts";
import type { CircuitBreaker, Step } from "../store/step.ts";

/** The circuit breakers of the peers that all security keys share. */
export interface CircuitBreakers {
  mail: CircuitBreaker;
  enrollment: CircuitBreaker;
}

export const newCircuitBreakers = (): CircuitBreakers => ({ mail: {}, enrollment: {} });

/** The credentials that one call of `processSecurityKey` processed, by their state after it. */
export interface KeyCounts {
  readonly processed: number;
  readonly activated: number;
  readonly failed: number;
  readonly pending: number;
}

/**
 * Does the due work of one security key: polls a waiting authenticator, activates pending credentials one after another
 * in array order, and sends the PIN mail. A credential that must wait does not delay the next one. Stops if the lease
 * is lost. When the time of the run is over, starts no further step and releases the lease.
 */
export async function processSecurityKey(
  start: LoadedRequest,
  keyId: string,
  { run, circuitBreakers }: { run: Run; circuitBreakers: CircuitBreakers },
  deps: ConnectorDeps,
): Promise<{ loaded: LoadedRequest; counts: KeyCounts }> {
  const processed = new Set<number>();
  let loaded = start;
  const current = () => securityKeyOf(loaded, keyId);
  /** Returns whether the outcome was saved. It is not if the lease is lost, or if the time of the run was over. */
  const save = async (step: Step, isMoreDue: (key: SecurityKey) => boolean, peer?: keyof CircuitBreakers) => {
    const onTripped = (tripped: CircuitBreaker) => peer && trip(circuitBreakers, peer, tripped, deps);
    const saved = await runStep({ loaded, keyId, run }, step, { isMoreDue, onTripped }, deps);
    loaded = saved ?? loaded;
    return saved !== undefined;
  };
  const result = () => {
    measureUnsentMail(current(), deps.now());
    return { loaded, counts: countsOf(current(), processed) };
  };
  /** Saves the security key without a change. This releases the lease and rewrites the index of due work. */
  const release = async () => {
    await save({ change: key => key }, nothingMore);
    return result();
  };
  const endEarly = () => (loaded === start || !isOver(run, deps) ? result() : release());
  if (isLeasedByAnother(current().lease, run, deps.now())) return result();

  if (isPollDue(current(), run, deps) && circuitBreakers.enrollment.refused !== true) {
    const polled = waitingOf(current());
    const poll = pollAuthenticator(loaded.request.value, () => circuitBreakers.enrollment, deps);
    const isMoreDue = (key: SecurityKey) => dueActivations(key, run, deps).length > 0 || isMailDue(key, run, deps);
    if (!(await save(poll, isMoreDue, "enrollment"))) return endEarly();
    for (const index of polled) processed.add(index);
  }
  const due = dueActivations(current(), run, deps);
  for (const index of due) {
    if (isOver(run, deps)) return endEarly();
    const activation = await activateCredential({ requestId: loaded.request.value.id, key: current(), index }, deps);
    const isMoreDue = (key: SecurityKey) => index !== due.at(-1) || isMailDue(key, run, deps);
    if (!(await save(activation, isMoreDue))) return endEarly();
    processed.add(index);
  }
  if (!isMailDue(current(), run, deps)) {
    // Another process stopped while it had the lease, and a cancel ended the work: only this run can remove the key
    // from the queue.
    const isIndexStale = loaded === start && !isSameDue(releaseLease(current(), deps).due, current().due);
    return isIndexStale ? release() : result();
  }
  if (isOver(run, deps)) return endEarly();
  const mail = await sendPinMail({ loaded, key: current() }, () => circuitBreakers.mail, deps);
  return (await save(mail, nothingMore, "mail")) ? result() : endEarly();
}

const nothingMore = (): boolean => false;

function trip(
  circuitBreakers: CircuitBreakers,
  peer: keyof CircuitBreakers,
  tripped: CircuitBreaker,
  { log }: Pick<ConnectorDeps, "log">,
): void {
  if (peer === "enrollment" && tripped.refused === true && circuitBreakers.enrollment.refused !== true)
    log.error("enrollment_refused", {});
  circuitBreakers[peer] = { ...circuitBreakers[peer], ...tripped };
}

const waitingOf = ({ credentials }: SecurityKey): readonly number[] =>
  [...credentials.keys()].filter(index => credentials[index]?.state === "processing");

const isPollDue = (key: SecurityKey, run: Run, { now }: ConnectorDeps): boolean =>
  key.enrollment !== undefined && isWaiting(key) && isRetryDue(key.enrollment, run, now());

const dueActivations = ({ credentials }: SecurityKey, run: Run, { now }: ConnectorDeps): readonly number[] =>
  [...credentials.entries()]
    .filter(([, credential]) => credential.state === "activation_pending" && isRetryDue(credential.retry, run, now()))
    .map(([index]) => index);

const isMailDue = ({ mail }: SecurityKey, run: Run, { now }: ConnectorDeps): boolean =>
  mail.state === "due" && isRetryDue(mail.retry, run, now());

const isRetryDue = (retry: Retry | undefined, run: Run, now: Instant): boolean =>
  retry === undefined || isDue({ ...retry, at: retry.nextAt }, run, now);

function countsOf(key: SecurityKey, processed: ReadonlySet<number>): KeyCounts {
  const states = [...processed].map(index => key.credentials[index]?.state);
  const count = (state: string) => states.filter(each => each === state).length;
  return {
    processed: processed.size,
    activated: count("active"),
    failed: count("failed"),
    pending: count("activation_pending") + count("processing"),
  };
}
