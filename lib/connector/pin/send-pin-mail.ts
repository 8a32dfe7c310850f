import { allSuppressedCode, type Mailer, type MailStatus } from "../../platform/peers/mail.ts";
import { PeerFailure } from "../../platform/peers/peer-failure.ts";
import { between, type Instant, plus } from "../../platform/time.ts";
import type { ConnectorDeps, LoadedRequest } from "../deps.ts";
import { derivedGuid } from "../model/ids.ts";
import { deliveryService, mailService, preRegistrationApi } from "../model/peer-names.ts";
import { isMailable } from "../model/pin-mail.ts";
import { displayName, isOnSite, type PinMail, type SecurityKey } from "../model/request.ts";
import { firstAttempt, postpone, waitUntil } from "../model/retry.ts";
import type { Outcome, Step } from "../runs/step.ts";
import { composePinMail } from "./compose-pin-mail.ts";
import { fetchPin, openStoredPin } from "./fetch-pin.ts";

/**
 * The waits before the look-ups of an accepted mail; afterwards it is left to the next run. The mail service allows two look-ups for each
 * mail: 60 a minute and 200 an hour on a new domain, against 30 and 100 mails.
 */
const lookUpWaitsMs = [300, 900];

/** Accepted sends after which a mail that the mail service does not know counts as sent: each of them may be one more mail. */
const mostAccepted = 2;

/** The security key whose PIN is mailed, and its request as loaded. */
interface Target {
  readonly loaded: LoadedRequest;
  readonly key: SecurityKey;
}

/**
 * Returns the step that sends the PIN mail of a security key. The send is stored before the call, under an id computed
 * from key and number. After a send without an answer, the mail service is asked for it before another mail is sent.
 * The PIN is fetched for the send and not stored. Addresses that `PIN_MAIL_DOMAINS` no longer allows are left out; with
 * none left, the mail stays due, as after a failure (C14).
 */
export async function sendPinMail(target: Target, deps: ConnectorDeps): Promise<Step> {
  const { key } = target;
  if (key.mail.triedAt === undefined) return afterLookUp(target, undefined, deps);
  return {
    peer: mailService,
    read: async () => {
      const status = await lookUp(operationOf(target, lastNumber(key)), deps.mailer);
      const failure = status instanceof PeerFailure ? status : undefined;
      return { next: () => afterLookUp(target, status, deps), failure };
    },
  };
}

/**
 * Returns the step that fetches the PIN for the mail, or the outcome if no mail is sent now.
 * @param result that of the last send, if it was not answered
 */
async function afterLookUp(
  target: Target,
  result: MailStatus | PeerFailure | undefined,
  deps: ConnectorDeps,
): Promise<Step> {
  const { loaded, key } = target;
  const { now, intervals } = deps;
  const { mail } = key;
  const isOverdue = between(mail.firstDueAt ?? now(), now()) > intervals.retryForMs;
  if (result instanceof PeerFailure) {
    deps.log.warn("mail_look_up_failed", { keyId: key.id, error: result });
    if (isOverdue) return giveUp(key, deps);
    const { code, retryAfter } = result;
    if (result.passing || code === undefined)
      return sendLater("The mail service does not answer.", { retryAfter }, deps);
    return sendLater(`The mail service refused the look-up of the PIN mail: ${code}.`, { retryAfter, code }, deps);
  }
  const status = result?.status;
  if (status === "succeeded") return sent(key.id, deps);
  if (status === "unknown" && (mail.accepted ?? 0) >= mostAccepted) {
    deps.log.warn("pin_mail_unknown", { keyId: key.id });
    return sent(key.id, deps);
  }
  if (status === "running") {
    // Since this send, because an earlier one may have used up the time.
    if (between(mail.triedAt ?? now(), now()) > intervals.retryForMs) return giveUp(key, deps);
    return mailAt(plus(now(), intervals.mailRunningMs));
  }
  if (isOverdue) return giveUp(key, deps, result?.code === undefined ? {} : { errorCode: result.code });
  if (status === "failed") return notDelivered(key, result?.code, deps);
  const inDoubt = status !== undefined;
  const number = lastNumber(key);
  const { emailsTo, delivery } = loaded.request.value;
  const trackingNumber = isOnSite(key) ? undefined : delivery?.tracking?.number;
  const to = emailsTo.filter(email => isMailable(email, deps.pinMailDomains));
  const leftOut = emailsTo.filter(email => !to.includes(email));
  if (leftOut.length > 0)
    deps.log.warn("pin_mail_addresses_left_out", { keyId: key.id, count: leftOut.length, of: emailsTo.length });
  if (to.length === 0) return sendLater("No PIN mail was sent.", { leftOut, mayBeDone: inDoubt }, deps);
  const send = (pin: string): Step => {
    const tried = { number, triedAt: now(), ...(leftOut.length > 0 && { leftOut }) };
    return {
      intent: withMail(tried, leftOut.length === 0 ? ["leftOut"] : []),
      peer: mailService,
      timeLimitMs: intervals.mailCallMs,
      perform: current =>
        deliver(current, pin, { to, trackingNumber, operation: operationOf(target, number), inDoubt }, deps),
    };
  };
  return {
    peer: isOnSite(key) ? preRegistrationApi : deliveryService,
    read: async () => {
      const pin = await fetchPin(loaded, key.id, deps);
      const next = async () =>
        "problem" in pin ? sendLater(pin.problem, { retryAfter: pin.retryAfter }, deps) : send(pin.pin);
      return { next, failure: pin.failure };
    },
    withoutRead: async () => {
      const pin = await openStoredPin(loaded, key.id, deps);
      return pin === undefined || "problem" in pin ? undefined : send(pin.pin);
    },
  };
}

const lastNumber = ({ mail }: SecurityKey): number => Math.max(1, mail.number);

const operationOf = ({ loaded, key }: Target, number: number): string =>
  operationId(loaded.request.value.id, key.id, number);

interface Send {
  readonly to: readonly string[];
  readonly trackingNumber: string | undefined;
  readonly operation: string;
  /** An earlier send was not answered. */
  readonly inDoubt: boolean;
}

async function deliver(
  key: SecurityKey,
  pin: string,
  { to, trackingNumber = "", operation, inDoubt }: Send,
  deps: ConnectorDeps,
): Promise<Outcome> {
  const usable = key.credentials.filter(({ state }) => state !== "failed" && state !== "cancelled");
  // One user may have a credential at several identity providers.
  const userIds = [...new Set(usable.map(({ userId }) => userId))];
  try {
    const content = { pin, keyName: displayName(key), serial: key.serial ?? "", userIds, trackingNumber };
    const mail = composePinMail(content, deps.pinMailSender);
    await deps.mailer.send({ to, ...mail, operationId: operation });
  } catch (error) {
    if (!(error instanceof PeerFailure)) throw error;
    return { ...notAccepted(key, error, inDoubt, deps), failure: error };
  }
  return awaitSent(key, operation, deps);
}

/**
 * Looks up an accepted mail until it is sent or a look-up fails. Most are sent within a second; a later run looks up the
 * others.
 */
async function awaitSent(key: SecurityKey, operation: string, deps: ConnectorDeps): Promise<Outcome> {
  let failure: PeerFailure | undefined;
  for (const waitMs of lookUpWaitsMs) {
    await deps.sleep(waitMs);
    const result = await lookUp(operation, deps.mailer);
    if (result instanceof PeerFailure) {
      failure = result;
      break;
    }
    if (result.status === "succeeded") return sent(key.id, deps);
    if (result.status === "failed") return notDelivered(key, result.code, deps);
  }
  const wait = Math.max(deps.intervals.mailRunningMs, (failure?.retryAfter ?? 0) * 1000);
  return mailAt(plus(deps.now(), wait), [], { accepted: (key.mail.accepted ?? 0) + 1 });
}

/** Returns the status of a send, or the failure of the mail service. */
async function lookUp(operation: string, mailer: Mailer): Promise<MailStatus | PeerFailure> {
  try {
    return await mailer.status(operation);
  } catch (error) {
    if (error instanceof PeerFailure) return error;
    throw error;
  }
}

function notDelivered(key: SecurityKey, code: string | undefined, deps: ConnectorDeps): Outcome {
  deps.log.warn("mail_failed", { keyId: key.id, error: new PeerFailure(mailService, "send", "refused", { code }) });
  if (code === allSuppressedCode) return endSuppressed(key, deps);
  const reason = code === undefined ? "" : `: ${code}`;
  const later = sendLater(
    `The mail service could not deliver the PIN mail${reason}.`,
    { code, mayBeDone: false },
    deps,
  );
  // The next send is another mail to the mail service.
  return { change: (...of) => withMail({ number: lastNumber(key) + 1 }, ["accepted"])(later.change(...of)) };
}

function notAccepted(key: SecurityKey, failure: PeerFailure, inDoubt: boolean, deps: ConnectorDeps): Outcome {
  deps.log.warn("mail_failed", { keyId: key.id, error: failure });
  const { retryAfter, code } = failure;
  // The mail service may have sent the mail before it answered 5xx, even with Retry-After.
  if (failure.kind === "unanswered" || (failure.status ?? 0) >= 500)
    return sendLater("The mail service did not answer.", { retryAfter }, deps);
  if (failure.kind === "throttled") {
    const nextAt = plus(deps.now(), Math.max(1, retryAfter ?? 60) * 1000);
    return mailAt(nextAt, inDoubt ? [] : ["triedAt"]);
  }
  if (code === allSuppressedCode) return endSuppressed(key, deps);
  const lastError = `The PIN mail was not accepted: ${code ?? failure.kind}.`;
  return sendLater(lastError, { retryAfter, mayBeDone: inDoubt, code }, deps);
}

/** Returns the operation id of one send of a security key. It is the same after a crash. */
export const operationId = (requestId: string, keyId: string, number: number): string =>
  derivedGuid(`pin-mail/${requestId}/${keyId}/${number}`);

const withMail =
  (changes: Partial<PinMail>, dropped: readonly (keyof PinMail)[] = []) =>
  (key: SecurityKey): SecurityKey => {
    const mail = { ...key.mail, ...changes };
    for (const name of dropped) delete mail[name];
    return { ...key, mail };
  };

/** Returns the outcome of a mail that waits until a time that the mail service has set. */
const mailAt = (at: Instant, dropped: readonly (keyof PinMail)[] = [], more: Partial<PinMail> = {}): Outcome => ({
  change: key => withMail({ ...more, retry: waitUntil(at, key.mail.retry) }, dropped)(key),
});

/** What only a mail that is due has. */
const ended = ["triedAt", "accepted", "retry", "errorCode"] as const;

function sent(keyId: string, { now, log }: ConnectorDeps): Outcome {
  log.info("pin_mail_sent", { keyId });
  const at = now();
  return { change: key => withMail({ state: "sent", sentAt: key.mail.sentAt ?? at }, ended)(key) };
}

function giveUp({ id, mail }: SecurityKey, { log }: ConnectorDeps, changes: Partial<PinMail> = {}): Outcome {
  const { errorCode = mail.errorCode } = changes;
  log.error("pin_mail_given_up", { keyId: id, ...(errorCode !== undefined && { errorCode }) });
  // A mail that was never sent counts as the first one, so that a resend has another number.
  const given = (key: SecurityKey): Partial<PinMail> => ({ ...changes, state: "given_up", number: lastNumber(key) });
  return { change: key => withMail(given(key), ["triedAt", "accepted"])(key) };
}

/**
 * Gives a mail up whose addresses are all suppressed: each further mail to them extends the suppression, from a day up to 14 days, also
 * when the mailbox exists by then. A person corrects the mailbox and resends the PIN; until then it stays available (C14).
 */
function endSuppressed(key: SecurityKey, deps: ConnectorDeps): Outcome {
  const at = deps.now();
  const lastError =
    `The PIN mail was not delivered: ${allSuppressedCode}. The mail service sends nothing to these addresses, because ` +
    "earlier mails came back. Correct the mailbox, then resend the PIN.";
  return giveUp(key, deps, { errorCode: allSuppressedCode, retry: waitUntil(at, key.mail.retry, lastError) });
}

interface Delay {
  /** Seconds that the peer asked to wait. */
  readonly retryAfter?: number | undefined;
  /** Whether the mail service may have accepted a send. It is looked up before the next one. */
  readonly mayBeDone?: boolean;
  /** The mail service's error code. */
  readonly code?: string | undefined;
  /** Addresses that were left out. */
  readonly leftOut?: readonly string[];
}

/** Returns the outcome of a mail that could not be sent and stays due. */
function sendLater(
  lastError: string,
  { retryAfter, mayBeDone = true, code, leftOut }: Delay,
  { now, intervals }: ConnectorDeps,
): Outcome {
  const at = now();
  const change = (key: SecurityKey): SecurityKey => {
    const retry = postpone(key.mail.retry ?? firstAttempt(at), at, intervals.retry, { retryAfter, lastError });
    const dropped: (keyof PinMail)[] = mayBeDone ? [] : ["triedAt"];
    if (code === undefined) dropped.push("errorCode");
    return withMail(
      { retry, ...(code !== undefined && { errorCode: code }), ...(leftOut && { leftOut }) },
      dropped,
    )(key);
  };
  return { change };
}
