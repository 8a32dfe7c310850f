import { Fault } from "../../platform/fault.ts";
import { withLogFields } from "../../platform/log.ts";
import { orFailure } from "../../platform/peer-failure.ts";
import { between, hours, type Instant, plus } from "../../platform/time.ts";
import type { ConnectorDeps } from "../deps.ts";
import type { LoadedRequest } from "../model/loaded-request.ts";
import { mailService } from "../model/peer-names.ts";
import type { CredentialRequest } from "../model/request.ts";
import { firstAttempt } from "../model/retry.ts";
import { isMailable, queueOf, type SecurityKey } from "../model/security-key.ts";
import { loadAfterLeases, loadRequest } from "../runs/change-request.ts";
import { type KeyChange, type KeyWork, keyWork } from "../runs/key-work.ts";
import { isLeasedByAnother, isPastDeadline, isStopped, type Run, secondsUntilFree, startRun } from "../runs/run.ts";
import { fetchPinResponse, openPinResponse, withOneGet } from "./fetch-pin.ts";
import { addressesOf, deliver } from "./send-pin-mail.ts";
import { whyNoPin } from "./why-no-pin.ts";

/** How often the PIN of a security key may be sent again within an hour: more emails help no recipient. */
const resendsPerHour = 5;

/**
 * Emails the PINs of a request again, for each security key whose PIN response is available and whose limit allows it
 * (C1, C14). An email that fails or may have been sent is left to the job, and its key is named in the result: a caller
 * that repeated the call would send another email. Throws Fault: `not_found`; `conflict` with the reason if no key has a
 * PIN to send, if `PIN_MAIL_DOMAINS` allows none of the addresses, or with Retry-After while a job has the lease of a
 * key, after a wait of 2 seconds at most; `throttled` if every security key has reached its limit. If no email was sent
 * or left to the job: `unavailable` if a peer is not responding or the time is over, else the reason of the key that can
 * be tried first.
 * @param provisioning that of the security keys; undefined for all
 * @returns the number of emails sent, and each other security key that has a PIN to send with the reason as a sentence
 */
export async function resendPin(
  requestId: string,
  deps: ConnectorDeps,
  provisioning?: SecurityKey["provisioning"],
): Promise<{ readonly sent: number; readonly unsent: readonly { readonly keyId: string; readonly reason: string }[] }> {
  const run = startRun("on_demand", withOneGet(deps));
  const keysOf = ({ keys }: LoadedRequest) =>
    keys.filter(key => provisioning === undefined || key.provisioning === provisioning);
  return withLogFields({ credentialRequestId: requestId }, async () => {
    const start = await loadAfterLeases(
      () => loadRequest(requestId, run),
      loaded => keysOf(loaded).filter(hasPinToSend),
      run,
    );
    const ends = await resendEach(start, keysToResend(start.request, keysOf(start), run), run);
    const faults = ends.flatMap(({ end }) => (end instanceof Fault ? end : []));
    if (faults.length === ends.length) throw mostUseful(faults);
    const unsent = ends.flatMap(({ keyId, end }) =>
      end === "sent" ? [] : { keyId, reason: end instanceof Fault ? end.message : end.leftToJob },
    );
    const sent = ends.length - unsent.length;
    run.log.info("pin_resent", { sent, unsent: unsent.length });
    return { sent, unsent };
  });
}

/** Returns the fault for a call that sent no PIN: `unavailable` before others, the earliest Retry-After first. */
function mostUseful(faults: readonly Fault[]): Fault | undefined {
  const rankOf = ({ kind, retryAfterSeconds = 1e6 }: Fault) => retryAfterSeconds - (kind === "unavailable" ? 1e9 : 0);
  return faults.toSorted((a, b) => rankOf(a) - rankOf(b))[0];
}

const hasPinToSend = (key: SecurityKey): boolean => whyNoPin(key) === undefined;

/** Returns the fault of a resend for keys without a PIN to send. */
function nothingToSend(keys: readonly SecurityKey[]): Fault {
  const reasons = [...Map.groupBy(keys, whyNoPin)].map(([why, of]) => `${why} (${of.map(({ id }) => id).join(", ")})`);
  return new Fault("conflict", `There is no PIN to send: ${reasons.join("; ")}.`);
}

/** Returns the ids of the security keys that have a PIN to send. Throws a Fault if none can be sent now. */
function keysToResend({ emailsTo }: CredentialRequest, keys: readonly SecurityKey[], run: Run): readonly string[] {
  const withPin = keys.filter(hasPinToSend);
  if (withPin.length === 0) throw nothingToSend(keys);
  const leased = withPin.find(({ lease }) => isLeasedByAnother(lease, run));
  if (leased !== undefined) throw keyBusyFault(leased, run);
  if (!emailsTo.some(email => isMailable(email, run.pinMailDomains)))
    throw new Fault(
      "conflict",
      "PIN emails may go to no address of the request: PIN_MAIL_DOMAINS allows none of their domains.",
    );
  return withPin.map(({ id }) => id);
}

const keyBusyFault = ({ lease }: SecurityKey, deps: ConnectorDeps): Fault =>
  new Fault("conflict", "Another call or a job is processing the keys of the request.", {
    retryAfterSeconds: secondsUntilFree(lease, deps),
  });

const mailServiceAway = "The mail service is temporarily unavailable.";

/** Returns why the call sends no more emails; undefined if it may send another one. */
function whyStopped(run: Run): Fault | undefined {
  if (isPastDeadline(run))
    return new Fault("unavailable", "Timed out before all PINs were sent.", { retryAfterSeconds: 30 });
  if (!isStopped(mailService, run)) return undefined;
  const { pausedUntil } = run.peerLimits.of(mailService);
  const retryAfterSeconds = pausedUntil === undefined ? 30 : Math.ceil(between(run.now(), pausedUntil) / 1000);
  return new Fault("unavailable", mailServiceAway, { retryAfterSeconds });
}

/** Returns why the PIN of the key is not sent now; undefined if it may be. */
function whyNotNow(key: SecurityKey, run: Run): Fault | undefined {
  const now = run.now();
  // The request may have been read again after a conflict on an earlier key.
  if (isLeasedByAnother(key.lease, run)) return keyBusyFault(key, run);
  const resends = recent(key, now);
  if (resends.length < resendsPerHour) return whyStopped(run);
  const retryAfterSeconds = between(now, plus(resends[0] ?? now, hours(1))) / 1000;
  return new Fault("throttled", "The PIN was resent too often.", { retryAfterSeconds });
}

/** How the resend of one PIN ended. `leftToJob`: why its email, which is due, is not known to be sent. */
type ResendEnd = "sent" | { readonly leftToJob: string } | Fault;

/** Sends the PIN of each key. Once the time is over or the mail service must not be called, the others end with that. */
async function resendEach(start: LoadedRequest, keyIds: readonly string[], run: Run) {
  const ends: { readonly keyId: string; readonly end: ResendEnd }[] = [];
  let loaded = start;
  for (const keyId of keyIds) {
    const work = keyWork(loaded, keyId, run);
    const end = whyNotNow(work.key, run) ?? (await resendOne(work));
    const isLeft = end instanceof Fault && end.kind === "unavailable" && work.key.mail.state === "due";
    ends.push({ keyId, end: isLeft ? { leftToJob: `${end.message} A job tries again.` } : end });
    loaded = work.hasLostLease ? ((await run.requests.load(start.request.id)) ?? loaded) : work.loaded;
  }
  return ends;
}

async function resendOne(work: KeyWork): Promise<ResendEnd> {
  const { run } = work;
  const fetched = await orFailure(fetchPinResponse(work.loaded, work.key, run));
  const opened = await openPinResponse(work.loaded, work.key, fetched, run);
  if ("problem" in opened) {
    const { problem, isTransient, retryAfterSeconds = 30 } = opened;
    return isTransient ? new Fault("unavailable", problem, { retryAfterSeconds }) : new Fault("conflict", problem);
  }
  const { number: before } = work.key.mail;
  const isSaved = await work.finish(await resend(work, opened.pin));
  const { state, number, accepted, triedAt, retry } = work.key.mail;
  // Without the intent, which has another number, nothing was sent.
  if (number === before) return whyStopped(run) ?? keyBusyFault(work.key, run);
  if (!isSaved) return { leftToJob: `The email may have been sent. ${lookUpMessage}` };
  if (state === "sent") return "sent";
  if (accepted !== undefined)
    return { leftToJob: "The mail service has accepted the email, and has not sent it yet. A job looks it up." };
  const problem = retry?.lastError ?? mailServiceAway;
  if (state !== "due") return new Fault("conflict", problem);
  return { leftToJob: `${problem} ${triedAt === undefined ? "A job tries again." : lookUpMessage}` };
}

const lookUpMessage = "A job looks it up before it sends another one.";

/** Returns the times of resends within the last hour, oldest first. */
const recent = ({ mail }: SecurityKey, now: Instant): readonly Instant[] =>
  (mail.resentAt ?? []).filter(at => between(at, now) < hours(1));

/**
 * Sends the PIN again. Makes the email due under the next number, so that it is a new email to the mail service, and a
 * job continues it after a crash. An email that the mail service has certainly not taken does not count in the limit.
 */
async function resend(work: KeyWork, pin: string): Promise<KeyChange | undefined> {
  const at = work.run.now();
  const before = recent(work.key, at);
  const nextMail = ({ leftOut, triedAt, accepted, errorCode, ...mail }: SecurityKey["mail"]): SecurityKey["mail"] => ({
    ...mail,
    state: "due",
    number: mail.number + 1,
    firstDueAt: at,
    retry: firstAttempt(at),
    resentAt: [...before, at],
  });
  const send = { ...addressesOf(work.loaded, work.key, work.run), pin, inDoubt: false };
  const intent = (key: SecurityKey) => ({ ...key, mail: nextMail(key.mail), due: { queue: queueOf(key), at } });
  const change = await deliver(work, send, intent);
  const { number } = work.key.mail;
  return (
    change &&
    ((key, request) => {
      const { mail, ...rest } = change(key, request);
      const isNotTaken = mail.state === "due" && mail.number === number && mail.triedAt === undefined;
      return { ...rest, mail: isNotTaken ? { ...mail, resentAt: before } : mail };
    })
  );
}
