import type { Instant } from "../time.ts";
import { activate } from "./activate.ts";
import { atRest } from "./at-rest.ts";
import { heldByAnother, isDue, isOver, type Run } from "./due-work.ts";
import { conclude, type MailBrake } from "./key-hold.ts";
import type { ConnectorDeps, Loaded } from "./ports.ts";
import type { Key } from "./request.ts";
import { sendPinMail } from "./send-pin-mail.ts";
import { keyOf } from "./write.ts";

/** What one visit of a key came to, in credentials (decision C2). */
export interface KeyCounts {
  readonly processed: number;
  readonly activated: number;
  readonly failed: number;
  readonly pending: number;
}

/**
 * Does what is due for one key: its pending credentials one after another in array order, where one that must wait does not hold
 * back the next, then its PIN mail (decisions C14, C15). Stops where the hold is lost, and between two credentials when the run's
 * time is over.
 */
export async function workKey(
  start: Loaded,
  keyId: string,
  { run, brake }: { run: Run; brake: MailBrake },
  deps: ConnectorDeps,
): Promise<{ loaded: Loaded; counts: KeyCounts }> {
  const due = [...keyOf(start, keyId).credentials.entries()]
    .filter(([, credential]) => credential.state === "activation_pending" && isDue(dueOf(credential), run, deps.now()))
    .map(([index]) => index);
  const visited: number[] = [];
  let loaded = start;
  const visit = () => ({ loaded, counts: countsOf(keyOf(loaded, keyId), visited) });
  if (heldByAnother(keyOf(start, keyId).lease, run, deps.now())) return visit();

  const rest = (key: Key) => atRest(key, deps);
  for (const index of due) {
    if (visited.length > 0 && isOver(run, deps)) {
      loaded = (await conclude({ loaded, keyId, run, finish: rest }, key => key, deps)) ?? loaded;
      return visit();
    }
    const isLast = index === due.at(-1);
    const finish = (key: Key) => (isLast && !mailIsDue(key, run, deps) ? rest(key) : key);
    const after = await activate({ loaded, keyId, run, finish }, index, deps);
    if (after === undefined) return visit();
    visited.push(index);
    loaded = after;
  }
  if (mailIsDue(keyOf(loaded, keyId), run, deps))
    loaded = (await sendPinMail({ loaded, keyId, run, finish: rest }, brake, deps)) ?? loaded;
  return visit();
}

const mailIsDue = ({ mail }: Key, run: Run, { now }: ConnectorDeps): boolean =>
  mail.state === "due" && isDue(dueOf(mail), run, now());

const dueOf = ({ nextAt, held }: { nextAt?: Instant; held?: boolean }) => ({
  at: nextAt ?? "",
  ...(held === true && { held }),
});

function countsOf(key: Key, visited: readonly number[]): KeyCounts {
  const states = visited.map(index => key.credentials[index]?.state);
  const count = (state: string) => states.filter(each => each === state).length;
  return {
    processed: visited.length,
    activated: count("active"),
    failed: count("failed"),
    pending: count("activation_pending"),
  };
}
