import type { Instant } from "../../time.ts";
import { activate } from "../activate/activate-credential.ts";
import { type EnrollmentBrake, pollAuthenticator } from "../collect/poll-authenticator.ts";
import type { ConnectorDeps, Loaded } from "../deps.ts";
import { isWaiting } from "../model/credential.ts";
import type { Key } from "../model/request.ts";
import { tellUnsentMail } from "../pin/measure-unsent-mails.ts";
import { sendPinMail } from "../pin/send-pin-mail.ts";
import { conclude, type MailBrake } from "../store/lease.ts";
import { atRest } from "../store/next-due.ts";
import { heldByAnother, isDue, isOver, type Run } from "../store/queue.ts";
import { keyOf, sameDue } from "../store/save-request.ts";

/** What a run has learned of the peers that all keys share. */
export interface Brakes {
  readonly mail: MailBrake;
  readonly enrollment: EnrollmentBrake;
}

export const newBrakes = (): Brakes => ({
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
export async function workKey(
  start: Loaded,
  keyId: string,
  { run, brakes }: { run: Run; brakes: Brakes },
  deps: ConnectorDeps,
): Promise<{ loaded: Loaded; counts: KeyCounts }> {
  const visited = new Set<number>();
  let loaded = start;
  const visit = () => {
    tellUnsentMail(keyOf(loaded, keyId), deps.now());
    return { loaded, counts: countsOf(keyOf(loaded, keyId), visited) };
  };
  if (heldByAnother(keyOf(start, keyId).lease, run, deps.now())) return visit();

  const rest = (key: Key) => atRest(key, deps);
  if (pollIsDue(keyOf(start, keyId), run, deps) && !brakes.enrollment.refused) {
    const finish = (key: Key) =>
      dueActivations(key, run, deps).length > 0 || mailIsDue(key, run, deps) ? key : rest(key);
    const polled = waitingOf(keyOf(start, keyId));
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
  const due = dueActivations(keyOf(loaded, keyId), run, deps);
  for (const index of due) {
    if (isOver(run, deps)) return stop();
    const isLast = index === due.at(-1);
    const finish = (key: Key) => (isLast && !mailIsDue(key, run, deps) ? rest(key) : key);
    const after = await activate({ loaded, keyId, run, finish }, index, deps);
    if (after === undefined) return visit();
    visited.add(index);
    loaded = after;
  }
  if (!mailIsDue(keyOf(loaded, keyId), run, deps)) {
    // What it was due for was ended while a job that held it died: nobody else takes it out of the queue.
    const idle = loaded === start && !sameDue(rest(keyOf(start, keyId)).due, keyOf(start, keyId).due);
    return idle ? giveBack() : visit();
  }
  if (isOver(run, deps)) return stop();
  loaded = (await sendPinMail({ loaded, keyId, run, finish: rest }, brakes.mail, deps)) ?? loaded;
  return visit();
}

const waitingOf = ({ credentials }: Key): readonly number[] =>
  [...credentials.keys()].filter(index => credentials[index]?.state === "processing");

const pollIsDue = (key: Key, run: Run, { now }: ConnectorDeps): boolean =>
  key.enrollment !== undefined && isWaiting(key) && isDue(dueOf(key.enrollment), run, now());

const dueActivations = ({ credentials }: Key, run: Run, { now }: ConnectorDeps): readonly number[] =>
  [...credentials.entries()]
    .filter(([, credential]) => credential.state === "activation_pending" && isDue(dueOf(credential), run, now()))
    .map(([index]) => index);

const mailIsDue = ({ mail }: Key, run: Run, { now }: ConnectorDeps): boolean =>
  mail.state === "due" && isDue(dueOf(mail), run, now());

const dueOf = ({ nextAt, held }: { nextAt?: Instant; held?: boolean }) => ({
  at: nextAt ?? "",
  ...(held === true && { held }),
});

function countsOf(key: Key, visited: ReadonlySet<number>): KeyCounts {
  const states = [...visited].map(index => key.credentials[index]?.state);
  const count = (state: string) => states.filter(each => each === state).length;
  return {
    processed: visited.size,
    activated: count("active"),
    failed: count("failed"),
    pending: count("activation_pending") + count("processing"),
  };
}
