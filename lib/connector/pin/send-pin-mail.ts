import { derivedGuid } from "../../platform/crypto.ts";
import type { MailStatus } from "../../platform/mail.ts";
import { orFailure, PeerFailure } from "../../platform/peer-failure.ts";
import { between, plus } from "../../platform/time.ts";
import type { ConnectorDeps } from "../deps.ts";
import { isUsable } from "../model/credential.ts";
import type { LoadedRequest } from "../model/loaded-request.ts";
import { deliveryService, mailService, preRegistrationApi } from "../model/peer-names.ts";
import { displayName, isMailable, isOnSite, type SecurityKey } from "../model/security-key.ts";
import type { CallEnd, PeerCall, Step, StepOutcome } from "../runs/step.ts";
import { composePinMail } from "./compose-pin-mail.ts";
import { fetchPin, openStoredPin } from "./fetch-pin.ts";
import { giveUp, mailAt, notAccepted, notDelivered, sendLater, sendNumber, sent } from "./mail-outcomes.ts";

/**
 * The waits before the look-ups of an accepted email; afterwards it is left to the next run. The mail service allows
 * two look-ups for each mail: 60 a minute and 200 an hour on a new domain, against 30 and 100 mails.
 */
const lookUpWaitsMs = [300, 900];

/** Accepted sends after which an email that the mail service does not know counts as sent. */
const maxAccepted = 2;

/** The security key whose PIN is mailed, and its request as loaded. */
export interface Target {
  readonly loaded: LoadedRequest;
  readonly key: SecurityKey;
}

/**
 * Returns the step that sends the PIN email of a security key. The send is stored before the call, under an id computed
 * from key and number. After a send without an answer, the mail service is asked for it before another email is sent.
 * The PIN is fetched for the send and not stored. Addresses that `PIN_MAIL_DOMAINS` no longer allows are left out; with
 * none left, the email stays due, as after a failure (C14).
 */
export async function sendPinMail(target: Target, deps: ConnectorDeps): Promise<Step> {
  if (target.key.mail.triedAt === undefined) return fetchAndSend(target, false, deps);
  return {
    peer: mailService,
    read: async () => {
      const result = await orFailure(deps.mailer.status(operationOf(target)));
      if (result instanceof PeerFailure) return { next: () => afterNoLookUp(target, result, deps), failure: result };
      return { next: () => afterLookUp(target, result, deps) };
    },
  };
}

/** Whether the email has been due for longer than it is tried. */
const isOverdue = ({ key: { mail } }: Target, { now, intervals }: ConnectorDeps): boolean =>
  between(mail.firstDueAt ?? now(), now()) > intervals.retryForMs;

function afterNoLookUp(target: Target, failure: PeerFailure, deps: ConnectorDeps): StepOutcome {
  deps.log.warn("mail_look_up_failed", { keyId: target.key.id, error: failure });
  if (isOverdue(target, deps)) return giveUp(target.key, deps);
  const { code, isTransient, retryAfterSeconds } = failure;
  if (isTransient || code === undefined)
    return sendLater("The mail service is not responding.", { retryAfterSeconds }, deps);
  return sendLater(
    `The mail service refused the look-up of the PIN email: ${code}.`,
    { retryAfterSeconds, code },
    deps,
  );
}

/** Returns the step after the look-up of a send that was not answered. */
async function afterLookUp(target: Target, { status, code }: MailStatus, deps: ConnectorDeps): Promise<Step> {
  const { id: keyId, mail } = target.key;
  const { now, intervals, log } = deps;
  if (status === "succeeded") return sent(keyId, deps);
  if (status === "unknown" && (mail.accepted ?? 0) >= maxAccepted) {
    log.warn("pin_mail_unknown", { keyId });
    return sent(keyId, deps);
  }
  if (status === "running") {
    // Since this send, because an earlier one may have used up the time.
    if (between(mail.triedAt ?? now(), now()) > intervals.retryForMs) return giveUp(target.key, deps);
    return mailAt(plus(now(), intervals.mailRunningMs));
  }
  if (isOverdue(target, deps)) return giveUp(target.key, deps, { errorCode: code });
  return status === "failed" ? notDelivered(target.key, code, deps) : fetchAndSend(target, true, deps);
}

/**
 * Returns the step that fetches the PIN and sends the email, or the outcome if no email is sent now.
 * @param inDoubt whether an earlier send was not answered, and the mail service does not know it
 */
async function fetchAndSend(target: Target, inDoubt: boolean, deps: ConnectorDeps): Promise<Step> {
  const { loaded, key } = target;
  if (isOverdue(target, deps)) return giveUp(key, deps);
  const addresses = addressesOf(target, deps);
  const { to, leftOut } = addresses;
  if (to.length === 0) return sendLater("No PIN email was sent.", { leftOut, mayBeSent: inDoubt }, deps);
  const send = (pin: string): Step => sendStep(target, { ...addresses, pin, inDoubt }, deps);
  return {
    peer: isOnSite(key) ? preRegistrationApi : deliveryService,
    read: async () => {
      const pin = await fetchPin(loaded, key.id, deps);
      const next = () =>
        "problem" in pin ? sendLater(pin.problem, { retryAfterSeconds: pin.retryAfterSeconds }, deps) : send(pin.pin);
      return { next, failure: pin.failure };
    },
    otherwise: async () => {
      const pin = await openStoredPin(loaded, key.id, deps);
      return pin === undefined || "problem" in pin ? undefined : send(pin.pin);
    },
  };
}

/** Returns the step that sends a PIN email for the first time, with a PIN that is fetched already. */
export const sendFetchedPin = (target: Target, pin: string, deps: ConnectorDeps): PeerCall =>
  sendStep(target, { ...addressesOf(target, deps), pin, inDoubt: false }, deps);

/** Returns the addresses of the email, without those that `PIN_MAIL_DOMAINS` does not allow. */
function addressesOf({ loaded, key }: Target, deps: ConnectorDeps): Pick<Send, "to" | "leftOut"> {
  const { emailsTo } = loaded.request;
  const to = emailsTo.filter(email => isMailable(email, deps.pinMailDomains));
  const leftOut = emailsTo.filter(email => !to.includes(email));
  if (leftOut.length > 0)
    deps.log.warn("pin_mail_addresses_left_out", { keyId: key.id, count: leftOut.length, of: emailsTo.length });
  return { to, leftOut };
}

function sendStep({ loaded }: Target, send: Send, deps: ConnectorDeps): PeerCall {
  const { leftOut } = send;
  const triedAt = deps.now();
  return {
    intent: ({ mail: { leftOut: _, ...mail }, ...rest }) => ({
      ...rest,
      mail: { ...mail, number: sendNumber(mail), triedAt, ...(leftOut.length > 0 && { leftOut }) },
    }),
    peer: mailService,
    timeLimitMs: deps.intervals.mailCallMs,
    perform: current => deliver({ loaded, key: current }, send, deps),
  };
}

/** Returns the operation id of one send of a security key. It is the same after a crash. */
export const operationId = (requestId: string, keyId: string, number: number): string =>
  derivedGuid(`pin-mail/${requestId}/${keyId}/${number}`);

const operationOf = ({ loaded, key }: Target): string => operationId(loaded.request.id, key.id, sendNumber(key.mail));

interface Send {
  readonly to: readonly string[];
  readonly leftOut: readonly string[];
  readonly pin: string;
  /** Whether an earlier send was not answered, and the mail service does not know it. */
  readonly inDoubt: boolean;
}

async function deliver(target: Target, { to, pin, inDoubt }: Send, deps: ConnectorDeps): Promise<CallEnd> {
  const { loaded, key } = target;
  const usable = key.credentials.filter(isUsable);
  // One user may have a credential at several identity providers.
  const userIds = [...new Set(usable.map(({ userId }) => userId))];
  const tracking = isOnSite(key) ? undefined : loaded.request.delivery?.shipment?.tracking;
  const content = {
    pin,
    keyName: displayName(key),
    serial: key.serial ?? "",
    userIds,
    trackingNumber: tracking?.number ?? "",
  };
  const operationId = operationOf(target);
  const failure = await orFailure(
    deps.mailer.send({ to, ...composePinMail(content, deps.pinMailSender), operationId }),
  );
  if (failure instanceof PeerFailure) return { next: () => notAccepted(key, failure, inDoubt, deps), failure };
  const outcome = await awaitSent(key, operationId, deps);
  return { next: () => outcome };
}

/**
 * Looks up an accepted email until it is sent or a look-up fails. Most are sent within a second; a later run looks up
 * the others.
 */
async function awaitSent(key: SecurityKey, operation: string, deps: ConnectorDeps): Promise<StepOutcome> {
  let failure: PeerFailure | undefined;
  for (const waitMs of lookUpWaitsMs) {
    await deps.sleep(waitMs);
    const result = await orFailure(deps.mailer.status(operation));
    if (result instanceof PeerFailure) {
      failure = result;
      break;
    }
    if (result.status === "succeeded") return sent(key.id, deps);
    if (result.status === "failed") return notDelivered(key, result.code, deps);
  }
  const waitMs = Math.max(deps.intervals.mailRunningMs, (failure?.retryAfterSeconds ?? 0) * 1000);
  return mailAt(plus(deps.now(), waitMs), mail => ({ ...mail, accepted: (key.mail.accepted ?? 0) + 1 }));
}
