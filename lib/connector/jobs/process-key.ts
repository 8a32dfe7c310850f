import type { Instant } from "../../time.ts";
import { activateCredential } from "../activate/activate-credential.ts";
import { type EnrollmentBrake, pollAuthenticator } from "../collect/poll-authenticator.ts";
import type { ConnectorDeps, LoadedRequest } from "../deps.ts";
import { isWaiting } from "../model/credential.ts";
import type { SecurityKey } from "../model/request.ts";
import { measureUnsentMail } from "../pin/measure-unsent-mails.ts";
import { sendPinMail } from "../pin/send-pin-mail.ts";
import { conclude, type MailCircuitBreaker } from "../store/lease.ts";
import { releaseLease } from "../store/next-due.ts";
import { isDue, isLeasedByAnother, isOver, type Run } from "../store/queue.ts";
import { isSameDue, securityKeyOf } from "../store/save-request.ts";

/** What a run has learned of the peers that all keys share. */
export interface CircuitBreakers {
  readonly mail: MailCircuitBreaker;
  readonly enrollment: EnrollmentBrake;
}

export const newCircuitBreakers = (): CircuitBreakers => ({
  mail: { stoppedUntil: undefined },
  enrollment: { stoppedUntil: undefined, refused: false },
});

/** What one visit of a key came to, in credentials (decision C2). */
export interface KeyCounts {
  readonly processed: number;
  readonly activated: number;
  readonly failed: number;
  readonly pending: number;
}

/**
 * Does what is due for one key: the poll of an authenticator that waits, then its pending credentials one after another in array
 * order, where one that must wait does not hold back the next, then its PIN mail (decisions C14, C15). Stops where the hold is
 * lost. When the run's time is over it begins none of these any more and gives the hold back.
 */
export async function processKey(
  start: LoadedRequest,
  keyId: string,
  { run, brakes }: { run: Run; brakes: CircuitBreakers },
  deps: ConnectorDeps,
): Promise<{ loaded: LoadedRequest; counts: KeyCounts }> {
  const visited = new Set<number>();
  let loaded = start;
  const visit = () => {
    measureUnsentMail(securityKeyOf(loaded, keyId), deps.now());
    return { loaded, counts: countsOf(securityKeyOf(loaded, keyId), visited) };
  };
  if (isLeasedByAnother(securityKeyOf(start, keyId).lease, run, deps.now())) return visit();

  const rest = (key: SecurityKey) => releaseLease(key, deps);
  if (pollIsDue(securityKeyOf(start, keyId), run, deps) && !brakes.enrollment.refused) {
    const finish = (key: SecurityKey) =>
      dueActivations(key, run, deps).length > 0 || mailIsDue(key, run, deps) ? key : rest(key);
    const polled = waitingOf(securityKeyOf(start, keyId));
    const after = await pollAuthenticator({ loaded, keyId, run, finish }, brakes.enrollment, deps);
    if (after === undefined) return visit();
    for (const index of polled) visited.add(index);
    loaded = after;
  }
  const giveBack = async () => {
    loaded = (await conclude({ loaded, keyId, run, finish: rest }, key => key, deps)) ?? loaded;
    return visit();
  };
  const stop = () => (loaded === start ? visit() : giveBack());
  const due = dueActivations(securityKeyOf(loaded, keyId), run, deps);
  for (const index of due) {
    if (isOver(run, deps)) return stop();
    const isLast = index === due.at(-1);
    const finish = (key: SecurityKey) => (isLast && !mailIsDue(key, run, deps) ? rest(key) : key);
    const after = await activateCredential({ loaded, keyId, run, finish }, index, deps);
    if (after === undefined) return visit();
    visited.add(index);
    loaded = after;
  }
  if (!mailIsDue(securityKeyOf(loaded, keyId), run, deps)) {
    // What it was due for was ended while a job that held it died: nobody else takes it out of the queue.
    const idle = loaded === start && !isSameDue(rest(securityKeyOf(start, keyId)).due, securityKeyOf(start, keyId).due);
    return idle ? giveBack() : visit();
  }
  if (isOver(run, deps)) return stop();
  loaded = (await sendPinMail({ loaded, keyId, run, finish: rest }, brakes.mail, deps)) ?? loaded;
  return visit();
}

const waitingOf = ({ credentials }: SecurityKey): readonly number[] =>
  [...credentials.keys()].filter(index => credentials[index]?.state === "processing");

const pollIsDue = (key: SecurityKey, run: Run, { now }: ConnectorDeps): boolean =>
  key.enrollment !== undefined && isWaiting(key) && isDue(dueOf(key.enrollment), run, now());

const dueActivations = ({ credentials }: SecurityKey, run: Run, { now }: ConnectorDeps): readonly number[] =>
  [...credentials.entries()]
    .filter(([, credential]) => credential.state === "activation_pending" && isDue(dueOf(credential), run, now()))
    .map(([index]) => index);

const mailIsDue = ({ mail }: SecurityKey, run: Run, { now }: ConnectorDeps): boolean =>
  mail.state === "due" && isDue(dueOf(mail), run, now());

const dueOf = ({ nextAt, held }: { nextAt?: Instant; held?: boolean }) => ({
  at: nextAt ?? "",
  ...(held === true && { held }),
});

function countsOf(key: SecurityKey, visited: ReadonlySet<number>): KeyCounts {
  const states = [...visited].map(index => key.credentials[index]?.state);
  const count = (state: string) => states.filter(each => each === state).length;
  return {
    processed: visited.size,
    activated: count("active"),
    failed: count("failed"),
    pending: count("activation_pending") + count("processing"),
  };
}
