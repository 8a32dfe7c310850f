import { Fault } from "../../platform/fault.ts";
import { withLogFields } from "../../platform/log.ts";
import { orFailure } from "../../platform/peer-failure.ts";
import { between, hours, type Instant, plus } from "../../platform/time.ts";
import type { ConnectorDeps } from "../deps.ts";
import { isUsable, shownState } from "../model/credential.ts";
import type { LoadedRequest } from "../model/loaded-request.ts";
import { mailService } from "../model/peer-names.ts";
import { firstAttempt } from "../model/retry.ts";
import { hasPinMail, isMailable, queueOf, type SecurityKey } from "../model/security-key.ts";
import { loadUnleased } from "../runs/change-request.ts";
import { type KeyChange, type KeyWork, keyWork } from "../runs/key-work.ts";
import { isLeasedByAnother, isPastDeadline, isStopped, type Run, secondsUntilFree, startRun } from "../runs/run.ts";
import { fetchPinResponse, openPinResponse } from "./fetch-pin.ts";
import { addressesOf, deliver } from "./send-pin-mail.ts";

/** How often the PIN of a security key may be resent within an hour: more emails help no recipient. */
const resendsPerHour = 5;

/**
 * Emails the PINs of a request again, for each security key whose PIN response is available and whose limit allows it
 * (C1, C14). An email that fails stays due for the job. Returns the number of emails sent. Throws Fault: `not_found`;
 * `conflict` with the reason if no key has a PIN to send, if `PIN_MAIL_DOMAINS` allows none of the addresses, or with
 * Retry-After while a job has the lease of a key, after a wait of 2 seconds at most; `unavailable` if a peer is not
 * responding; `throttled` if every security key has reached its limit.
 * @param provisioning that of the security keys; undefined for all
 */
export async function resendPin(
  requestId: string,
  deps: ConnectorDeps,
  provisioning?: SecurityKey["provisioning"],
): Promise<{ readonly sent: number }> {
  const run = startRun("on_demand", deps);
  return withLogFields({ credentialRequestId: requestId }, async () => {
    const start = await loadUnleased(requestId, loaded => mailedKeys(loaded, provisioning), run, deps);
    const sent = await resendEach(start, resendableKeyIds(start, provisioning, run, deps), run, withOneGet(deps));
    deps.log.info("pin_resent", { sent });
    return { sent };
  });
}

/** Returns the security keys that have a PIN to send, see `whyNotMailed`. */
const mailedKeys = (loaded: LoadedRequest, provisioning?: SecurityKey["provisioning"]): readonly SecurityKey[] =>
  keysOf(loaded, provisioning).filter(key => whyNotMailed(key) === undefined);

const keysOf = (loaded: LoadedRequest, provisioning?: SecurityKey["provisioning"]): readonly SecurityKey[] =>
  loaded.keys.filter(key => provisioning === undefined || key.provisioning === provisioning);

/** Returns why a security key has no PIN to send, as the end of a sentence; undefined if it may have one. */
function whyNotMailed(key: SecurityKey): string | undefined {
  if (!hasPinMail(key)) return "no PIN of the key is sent by email";
  if (key.mail.state === "waiting") return "no credential is active yet";
  if (key.mail.state !== "none" && key.credentials.some(isUsable)) return undefined;
  const states = key.credentials.map(shownState);
  if (states.includes("revoked")) return "the credentials were revoked";
  if (key.credentials.some(({ revocation }) => revocation)) return "the revocation of the credentials was asked for";
  return states.includes("failed") ? "the credentials have failed" : "the credentials were cancelled";
}

/** Returns the fault of a resend for keys without a PIN to send. */
function nothingToSend(keys: readonly SecurityKey[]): Fault {
  const reasons = [...Map.groupBy(keys, whyNotMailed)].map(
    ([why, of]) => `${why} (${of.map(({ id }) => id).join(", ")})`,
  );
  return new Fault("conflict", `There is no PIN to send: ${reasons.join("; ")}.`);
}

/** Returns the ids of the security keys that may be mailed now. Throws a Fault if there are none. */
function resendableKeyIds(
  loaded: LoadedRequest,
  provisioning: SecurityKey["provisioning"] | undefined,
  run: Run,
  deps: ConnectorDeps,
): readonly string[] {
  const { now } = deps;
  const mailed = mailedKeys(loaded, provisioning);
  if (mailed.length === 0) throw nothingToSend(keysOf(loaded, provisioning));
  const leased = mailed.find(({ lease }) => isLeasedByAnother(lease, run, now()));
  if (leased !== undefined) throw keyBusyFault(leased, deps);
  if (!loaded.request.emailsTo.some(email => isMailable(email, deps.pinMailDomains)))
    throw new Fault(
      "conflict",
      "PIN emails may go to no address of the request: PIN_MAIL_DOMAINS allows none of their domains.",
    );
  const open = mailed.filter(key => mayResend(key, run, deps));
  if (open.length === 0) {
    const oldest = mailed.map(key => recent(key, now())[0] ?? now()).sort()[0] ?? now();
    const retryAfterSeconds = between(now(), plus(oldest, hours(1))) / 1000;
    throw new Fault("throttled", "The PINs of the request were resent too often.", { retryAfterSeconds });
  }
  return open.map(({ id }) => id);
}

const keyBusyFault = ({ lease }: SecurityKey, deps: ConnectorDeps): Fault =>
  new Fault("conflict", "A job is working on the keys of the request.", {
    retryAfterSeconds: secondsUntilFree(lease, deps),
  });

/** Returns why the call sends no more emails; undefined if it may send another one. */
function whyStopped(run: Run, deps: ConnectorDeps): Fault | undefined {
  if (isPastDeadline(run, deps))
    return new Fault("unavailable", "Timed out before all PINs were sent.", { retryAfterSeconds: 30 });
  if (!isStopped(mailService, run, deps)) return undefined;
  const { pausedUntil } = deps.peerLimits.of(mailService);
  const retryAfterSeconds = pausedUntil === undefined ? 30 : Math.ceil(between(deps.now(), pausedUntil) / 1000);
  return new Fault("unavailable", "The mail service is temporarily unavailable.", { retryAfterSeconds });
}

/** Whether no other run has the lease of the key, and its limit allows one more email. */
const mayResend = (key: SecurityKey, run: Run, { now }: ConnectorDeps): boolean =>
  !isLeasedByAnother(key.lease, run, now()) && recent(key, now()).length < resendsPerHour;

/**
 * Emails each key whose PIN is available until the time is over or the mail service throttles. Returns the number of
 * emails sent. Throws a Fault if no send was tried.
 */
async function resendEach(
  start: LoadedRequest,
  keyIds: readonly string[],
  run: Run,
  deps: ConnectorDeps,
): Promise<number> {
  let loaded = start;
  let sent = 0;
  let tried = 0;
  /** Why the last email that was not tried was not. */
  let lastFault: Fault | undefined;
  for (const keyId of keyIds) {
    const stopped = whyStopped(run, deps);
    if (stopped !== undefined) {
      lastFault = stopped;
      break;
    }
    const work = keyWork(loaded, keyId, run, deps);
    // The request may have been read again after a conflict on an earlier key.
    if (!mayResend(work.key, run, deps)) {
      lastFault = keyBusyFault(work.key, deps);
      continue;
    }
    const fetched = await orFailure(fetchPinResponse(loaded, work.key, deps));
    const opened = await openPinResponse(loaded, work.key, fetched, deps);
    if ("problem" in opened) {
      const { problem, isTransient, retryAfterSeconds = 30 } = opened;
      if (isTransient) lastFault = new Fault("unavailable", problem, { retryAfterSeconds });
      else lastFault ??= new Fault("conflict", problem);
      continue;
    }
    if (await work.finish(await resend(work, opened.pin))) {
      tried++;
      if (work.key.mail.state === "sent") sent++;
    } else lastFault = whyStopped(run, deps) ?? keyBusyFault(work.key, deps);
    loaded = work.isLost ? ((await deps.requests.load(start.request.id)) ?? loaded) : work.loaded;
  }
  if (lastFault !== undefined && tried === 0) throw lastFault;
  return sent;
}

/** Returns the times of resends within the last hour, oldest first. */
const recent = ({ mail }: SecurityKey, now: Instant): readonly Instant[] =>
  (mail.resentAt ?? []).filter(at => between(at, now) < hours(1));

/** Returns ports that get each shipment once: one response has the PINs of all its security keys. */
function withOneGet({ delivery, ...deps }: ConnectorDeps): ConnectorDeps {
  const got = new Map<string, ReturnType<typeof delivery.getShipment>>();
  const getShipment = (id: string) => {
    const shipment = got.get(id) ?? delivery.getShipment(id);
    got.set(id, shipment);
    return shipment;
  };
  return { ...deps, delivery: { ...delivery, getShipment } };
}

/**
 * Sends the PIN again. Makes the email due under the next number, so that it is a new email to the mail service, and a
 * job continues it after a crash.
 */
function resend(work: KeyWork, pin: string): Promise<KeyChange | undefined> {
  const at = work.deps.now();
  const nextMail = ({ leftOut, triedAt, accepted, errorCode, ...mail }: SecurityKey["mail"]): SecurityKey["mail"] => ({
    ...mail,
    state: "due",
    number: mail.number + 1,
    firstDueAt: at,
    retry: firstAttempt(at),
    resentAt: [...recent(work.key, at), at],
  });
  const send = { ...addressesOf(work.loaded, work.key, work.deps), pin, inDoubt: false };
  return deliver(work, send, key => ({ ...key, mail: nextMail(key.mail), due: { queue: queueOf(key), at } }));
}
