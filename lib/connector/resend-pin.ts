import { Fault } from "../fault.ts";
import { withLogFields } from "../log.ts";
import { between, hours, type Instant, plus } from "../time.ts";
import { atRest } from "./at-rest.ts";
import { heldByAnother, isOver, type Run, startRun } from "./due-work.ts";
import { fetchPin } from "./fetch-pin.ts";
import { renew } from "./key-hold.ts";
import type { ConnectorDeps, Loaded } from "./ports.ts";
import { type Key, keyQueue } from "./request.ts";
import { sendPinMail } from "./send-pin-mail.ts";
import { keyOf } from "./write.ts";

/**
 * Mails the PINs of a request again: those of every key whose PIN response is at hand and whose limit allows it (decisions C1,
 * C14). A mail that fails stays due for the job. Returns the number of mails sent.
 * Throws Fault: `not_found`; `conflict` when no PIN response is available, or with `retryAfter` while a job holds a key;
 * `unavailable` when that can not be told now; `throttled` when every key is over its limit.
 */
export async function resendPin(requestId: string, deps: ConnectorDeps): Promise<{ readonly sent: number }> {
  const start = await deps.requests.load(requestId);
  if (start === undefined) throw new Fault("not_found", "There is no such credential request.");
  const run = startRun("on_demand", deps);
  return withLogFields({ credentialRequestId: requestId }, async () => {
    const keyIds = await resendable(start, run, deps);
    let loaded = start;
    let sent = 0;
    let taken = 0;
    for (const keyId of keyIds) {
      if (isOver(run, deps)) break;
      const after = await resend(loaded, keyId, run, deps);
      if (after !== undefined) taken++;
      loaded = after ?? (await deps.requests.load(requestId)) ?? loaded;
      if (after !== undefined && keyOf(after, keyId).mail.state === "sent") sent++;
    }
    if (taken === 0) throw new Fault("conflict", "A job is working on the keys of the request.", { retryAfter: 5 });
    deps.log.info("pin_resent", { sent });
    return { sent };
  });
}

/** The keys to mail, or why there are none. */
async function resendable(loaded: Loaded, run: Run, deps: ConnectorDeps): Promise<readonly string[]> {
  const { now } = deps;
  const mailed = loaded.keys
    .map(({ value }) => value)
    .filter(({ mail: { state } }) => state === "due" || state === "sent" || state === "given_up");
  const held = mailed.find(({ lease }) => heldByAnother(lease, run, now()));
  if (held?.lease !== undefined) {
    const retryAfter = between(now(), held.lease.until) / 1000;
    throw new Fault("conflict", "A job is working on a key of the request.", { retryAfter });
  }
  const open = mailed.filter(key => recent(key, now()).length < deps.resendsPerHour);
  if (mailed.length > 0 && open.length === 0) {
    const oldest = mailed.map(key => recent(key, now())[0] ?? now()).sort()[0] ?? now();
    const retryAfter = between(now(), plus(oldest, hours(1))) / 1000;
    throw new Fault("throttled", "The PINs of the request were resent too often.", { retryAfter });
  }
  const available: Key[] = [];
  let passing: string | undefined;
  for (const key of open) {
    const pin = await fetchPin(loaded, key.id, deps);
    if ("pin" in pin) available.push(key);
    else if (pin.passing === true) passing ??= pin.problem;
  }
  if (available.length > 0) return available.map(({ id }) => id);
  if (passing !== undefined) throw new Fault("unavailable", passing, { retryAfter: 30 });
  throw new Fault("conflict", "No PIN response is available for the request.");
}

/** Resends of a key within the last hour, oldest first. */
const recent = ({ mail }: Key, now: Instant): readonly Instant[] =>
  (mail.resentAt ?? []).filter(at => between(at, now) < hours(1));

/** Takes the next number, so that the mail is another one than the last, and sends it as the job does. */
async function resend(loaded: Loaded, keyId: string, run: Run, deps: ConnectorDeps): Promise<Loaded | undefined> {
  const at = deps.now();
  const next = ({ errorMessage, triedAt, held, ...mail }: Key["mail"], key: Key): Key["mail"] => ({
    ...mail,
    state: "due",
    number: mail.number + 1,
    firstDueAt: at,
    attempts: 0,
    nextAt: at,
    resentAt: [...recent(key, at), at],
  });
  const hold = { loaded, keyId, run, finish: (key: Key) => atRest(key, deps) };
  const taken = await renew(
    hold,
    key => ({ ...key, mail: next(key.mail, key), due: { queue: keyQueue(key), at } }),
    deps.timing.mailCall,
    deps,
  );
  return taken && sendPinMail(taken, { stoppedUntil: undefined }, deps);
}
