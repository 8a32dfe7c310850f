import { derivedGuid } from "../../platform/crypto.ts";
import type { MailStatus } from "../../platform/mail.ts";
import { orFailure, PeerFailure } from "../../platform/peer-failure.ts";
import { between, plus } from "../../platform/time.ts";
import type { ConnectorDeps } from "../deps.ts";
import { type Credential, isUsable } from "../model/credential.ts";
import type { LoadedRequest } from "../model/loaded-request.ts";
import { deliveryService, mailService, preRegistrationApi } from "../model/peer-names.ts";
import { displayName, isMailable, isOnSite, type SecurityKey } from "../model/security-key.ts";
import type { KeyChange, KeyWork } from "../runs/key-work.ts";
import { notCalled } from "../runs/run.ts";
import { composePinMail, type PinMailContent } from "./compose-pin-mail.ts";
import { fetchPinResponse, openPinResponse } from "./fetch-pin.ts";
import { giveUp, mailAt, notAccepted, notDelivered, sendLater, sendNumber, sent } from "./mail-outcomes.ts";

/**
 * The waits before the look-ups of an accepted email; afterwards it is left to the next run. The mail service allows
 * two look-ups for each mail: 60 a minute and 200 an hour on a new domain, against 30 and 100 mails.
 */
const lookUpWaitsMs = [300, 900];

/** Accepted sends after which an email that the mail service does not know counts as sent. */
const maxAccepted = 2;

/**
 * Sends the PIN email of a security key. The send is stored before the call, under an id computed from key and number.
 * After a send without an answer, the mail service is asked for it before another email is sent. The PIN is fetched for
 * the send and not stored. Addresses that `PIN_MAIL_DOMAINS` no longer allows are left out; with none left, the email
 * stays due, as after a failure (C14).
 */
export async function sendPinMail(work: KeyWork): Promise<KeyChange | undefined> {
  const { loaded, key, run } = work;
  const inDoubt = key.mail.triedAt !== undefined;
  if (inDoubt) {
    const found = await work.read(mailService, () => run.mailer.status(operationOf(loaded, key)));
    if (found === notCalled) return undefined;
    const change = found instanceof PeerFailure ? afterNoLookUp(key, found, run) : afterLookUp(key, found, run);
    if (change !== undefined) return change;
  }
  if (isOverdue(key, run)) return giveUp(key, run);
  const addresses = addressesOf(loaded, key, run);
  if (addresses.to.length === 0)
    return sendLater("No PIN email was sent.", { leftOut: addresses.leftOut, mayBeSent: inDoubt }, run);
  const peer = isOnSite(key) ? preRegistrationApi : deliveryService;
  const fetched = await work.read(peer, () => fetchPinResponse(loaded, key, run));
  if (fetched === notCalled && !work.canBegin) return undefined;
  const opened = await openPinResponse(loaded, key, fetched === notCalled ? undefined : fetched, run);
  if ("pin" in opened) return deliver(work, { ...addresses, pin: opened.pin, inDoubt });
  if (fetched === notCalled) return undefined;
  return sendLater(opened.problem, { retryAfterSeconds: opened.retryAfterSeconds }, run);
}

/** Whether the email has been due for longer than it is tried. */
const isOverdue = ({ mail }: SecurityKey, { now, intervals }: ConnectorDeps): boolean =>
  between(mail.firstDueAt ?? now(), now()) > intervals.retryForMs;

function afterNoLookUp(key: SecurityKey, failure: PeerFailure, deps: ConnectorDeps): KeyChange {
  deps.log.warn("mail_look_up_failed", { keyId: key.id, error: failure });
  if (isOverdue(key, deps)) return giveUp(key, deps);
  const { code, isTransient, retryAfterSeconds } = failure;
  if (isTransient || code === undefined)
    return sendLater("The mail service is not responding.", { retryAfterSeconds }, deps);
  const refused = `The mail service refused the look-up of the PIN email: ${code}.`;
  return sendLater(refused, { retryAfterSeconds, code }, deps);
}

/** Returns the change after the look-up of a send without an answer; undefined if the email is to be sent again. */
function afterLookUp(key: SecurityKey, { status, code }: MailStatus, deps: ConnectorDeps): KeyChange | undefined {
  const { id: keyId, mail } = key;
  const { now, intervals, log } = deps;
  if (status === "succeeded") return sent(keyId, deps);
  if (status === "unknown" && (mail.accepted ?? 0) >= maxAccepted) {
    log.warn("pin_mail_unknown", { keyId });
    return sent(keyId, deps);
  }
  if (status === "running") {
    // Since this send, because an earlier one may have used up the time.
    if (between(mail.triedAt ?? now(), now()) > intervals.retryForMs) return giveUp(key, deps);
    return mailAt(plus(now(), intervals.mailRunningMs));
  }
  if (isOverdue(key, deps)) return giveUp(key, deps, { errorCode: code });
  return status === "failed" ? notDelivered(key, code, deps) : undefined;
}

/** Returns the addresses of the email, without those that `PIN_MAIL_DOMAINS` does not allow. */
export function addressesOf(
  { request: { emailsTo } }: LoadedRequest,
  key: SecurityKey,
  deps: ConnectorDeps,
): Pick<Send, "to" | "leftOut"> {
  const to = emailsTo.filter(email => isMailable(email, deps.pinMailDomains));
  const leftOut = emailsTo.filter(email => !to.includes(email));
  if (leftOut.length > 0)
    deps.log.warn("pin_mail_addresses_left_out", { keyId: key.id, count: leftOut.length, of: emailsTo.length });
  return { to, leftOut };
}

/** Returns the operation id of one send of a security key. It is the same after a crash. */
export const operationId = (requestId: string, keyId: string, number: number): string =>
  derivedGuid(`pin-mail/${requestId}/${keyId}/${number}`);

const operationOf = ({ request }: LoadedRequest, { id, mail }: SecurityKey): string =>
  operationId(request.id, id, sendNumber(mail));

interface Send {
  readonly to: readonly string[];
  readonly leftOut: readonly string[];
  readonly pin: string;
  /** Whether an earlier send was not answered, and the mail service does not know it. */
  readonly inDoubt: boolean;
}

/**
 * Sends the email, and looks up whether it was sent.
 * @param prepare a change that is stored with the intent
 */
export async function deliver(
  work: KeyWork,
  { to, leftOut, pin, inDoubt }: Send,
  prepare = (key: SecurityKey): SecurityKey => key,
): Promise<KeyChange | undefined> {
  const { loaded, run } = work;
  const triedAt = run.now();
  const intent = (current: SecurityKey): SecurityKey => {
    const {
      mail: { leftOut: _, ...mail },
      ...rest
    } = prepare(current);
    return { ...rest, mail: { ...mail, number: sendNumber(mail), triedAt, ...(leftOut.length > 0 && { leftOut }) } };
  };
  const result = await work.call({ peer: mailService, timeLimitMs: run.intervals.mailCallMs, intent }, async () => {
    const { key } = work;
    const operation = operationOf(loaded, key);
    const mail = composePinMail(contentOf(loaded, key, pin), run.pinMailSender);
    await run.mailer.send({ to, ...mail, operationId: operation });
    return awaitSent(key, operation, run);
  });
  if (result === notCalled) return undefined;
  return result instanceof PeerFailure ? notAccepted(work.key, result, inDoubt, run) : result;
}

/**
 * Whether the PIN email names the user of the credential. Not of one that its IdP has refused: it is read back, and the
 * user is left out of an email meanwhile even if the refusal proves wrong.
 */
export const isInMail = (credential: Credential): boolean => isUsable(credential) && credential.refusal === undefined;

function contentOf({ request }: LoadedRequest, key: SecurityKey, pin: string): PinMailContent {
  const tracking = isOnSite(key) ? undefined : request.delivery?.shipment?.tracking;
  return {
    pin,
    keyName: displayName(key),
    serial: key.serial ?? "",
    // One user may have a credential at several identity providers.
    userIds: [...new Set(key.credentials.filter(isInMail).map(({ userId }) => userId))],
    trackingNumber: tracking?.number ?? "",
  };
}

/**
 * Looks up an accepted email until it is sent or a look-up fails. Most are sent within a second; a later run looks up
 * the others.
 */
async function awaitSent(key: SecurityKey, operation: string, deps: ConnectorDeps): Promise<KeyChange> {
  let retryAfterSeconds: number | undefined;
  for (const waitMs of lookUpWaitsMs) {
    await deps.sleep(waitMs);
    const result = await orFailure(deps.mailer.status(operation));
    if (result instanceof PeerFailure) {
      retryAfterSeconds = result.retryAfterSeconds;
      break;
    }
    if (result.status === "succeeded") return sent(key.id, deps);
    if (result.status === "failed") return notDelivered(key, result.code, deps);
  }
  const waitMs = Math.max(deps.intervals.mailRunningMs, (retryAfterSeconds ?? 0) * 1000);
  return mailAt(plus(deps.now(), waitMs), mail => ({ ...mail, accepted: (key.mail.accepted ?? 0) + 1 }));
}
