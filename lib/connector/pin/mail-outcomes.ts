import { allSuppressedCode } from "../../platform/mail.ts";
import { PeerFailure } from "../../platform/peer-failure.ts";
import { measure } from "../../platform/telemetry.ts";
import { between, type Instant, plus } from "../../platform/time.ts";
import type { ConnectorDeps } from "../deps.ts";
import { mailService } from "../model/peer-names.ts";
import { firstAttempt, postpone, waitUntil } from "../model/retry.ts";
import type { SecurityKey } from "../model/security-key.ts";
import type { KeyChange } from "../runs/key-work.ts";

/** Returns the number of the current send, from 1. */
export const sendNumber = ({ number }: Mail): number => Math.max(1, number);

type Mail = SecurityKey["mail"];

const changed =
  (change: (mail: Mail) => Mail) =>
  (key: SecurityKey): SecurityKey => ({ ...key, mail: change(key.mail) });

/** The email was sent. What only an email that is due has is dropped. */
export function sent(keyId: string, { now, log }: ConnectorDeps): KeyChange {
  log.info("pin_mail_sent", { keyId });
  const at = now();
  return changed(({ triedAt, accepted, retry, errorCode, ...mail }) => ({
    ...mail,
    state: "sent",
    sentAt: mail.sentAt ?? at,
  }));
}

/** The email waits until a time that the mail service has set. */
export const mailAt = (at: Instant, change = (mail: Mail): Mail => mail): KeyChange =>
  changed(mail => change({ ...mail, retry: waitUntil(at, mail.retry) }));

/** The email is not sent any more. One that was never sent counts as the first, so that a resend has another number. */
export function giveUp(
  { id, mail: { errorCode: former } }: SecurityKey,
  { log }: ConnectorDeps,
  { errorCode, lastError }: { readonly errorCode?: string | undefined; readonly lastError?: string } = {},
  at?: Instant,
): KeyChange {
  const code = errorCode ?? former;
  log.error("pin_mail_given_up", { keyId: id, ...(code !== undefined && { errorCode: code }) });
  return changed(({ triedAt, accepted, ...mail }) => ({
    ...mail,
    ...(errorCode !== undefined && { errorCode }),
    ...(at !== undefined && { retry: waitUntil(at, mail.retry, lastError) }),
    state: "given_up",
    number: sendNumber(mail),
  }));
}

/**
 * Gives an email up whose addresses are all suppressed: each further email to them extends the suppression, from a day
 * up to 14 days, also when the mailbox exists by then. A person corrects the mailbox and resends the PIN; until then it
 * stays available (C14).
 */
function endSuppressed(key: SecurityKey, deps: ConnectorDeps): KeyChange {
  const lastError =
    `The PIN email was not delivered: ${allSuppressedCode}. The mail service sends nothing to these addresses, because ` +
    "earlier emails came back. Correct the mailbox, then resend the PIN.";
  return giveUp(key, deps, { errorCode: allSuppressedCode, lastError }, deps.now());
}

interface Delay {
  /** Seconds that the peer asked to wait. */
  readonly retryAfterSeconds?: number | undefined;
  /** Whether the mail service may have accepted a send. It is looked up before the next one. */
  readonly mayBeSent?: boolean;
  /** The mail service's error code. */
  readonly code?: string | undefined;
  /** Addresses that were left out. */
  readonly leftOut?: readonly string[];
}

/** The email could not be sent and stays due. */
export function sendLater(
  lastError: string,
  { retryAfterSeconds, mayBeSent = true, code, leftOut }: Delay,
  { now, intervals }: ConnectorDeps,
): KeyChange {
  const at = now();
  return changed(({ triedAt, errorCode, ...mail }) => ({
    ...mail,
    retry: postpone(mail.retry ?? firstAttempt(at), at, intervals.retry, { retryAfterSeconds, lastError }),
    ...(mayBeSent && triedAt !== undefined && { triedAt }),
    ...(code !== undefined && { errorCode: code }),
    ...(leftOut && { leftOut }),
  }));
}

/** The mail service had accepted the email, and could not deliver it. The next send is another email to it. */
export function notDelivered(key: SecurityKey, code: string | undefined, deps: ConnectorDeps): KeyChange {
  deps.log.warn("mail_failed", { keyId: key.id, error: new PeerFailure(mailService, "send", "refused", { code }) });
  if (code === allSuppressedCode) return endSuppressed(key, deps);
  const reason = code === undefined ? "" : `: ${code}`;
  const message = `The mail service could not deliver the PIN email${reason}.`;
  const later = sendLater(message, { code, mayBeSent: false }, deps);
  const next = changed(({ accepted, ...mail }) => ({ ...mail, number: sendNumber(key.mail) + 1 }));
  return (current, request) => next(later(current, request));
}

/**
 * The mail service did not accept the email, or did not answer.
 * @param inDoubt whether an earlier send was not answered
 */
export function notAccepted(key: SecurityKey, failure: PeerFailure, inDoubt: boolean, deps: ConnectorDeps): KeyChange {
  deps.log.warn("mail_failed", { keyId: key.id, error: failure });
  const { kind, status, retryAfterSeconds, code } = failure;
  // A 404 without the service's own error code does not say what became of the send. 409 is documented for a second
  // delivery of a send that is in progress (learn.microsoft.com/rest/api/communication/repeatable-requests).
  if (failure.mayBeDone || (kind === "unreachable" && status === 404) || status === 409) {
    const reason = code === undefined ? "" : `: ${code}`;
    return sendLater(`The mail service did not confirm the PIN email${reason}.`, { retryAfterSeconds, code }, deps);
  }
  if (kind === "throttled") {
    const nextAt = plus(deps.now(), Math.max(1, retryAfterSeconds ?? 60) * 1000);
    return mailAt(nextAt, inDoubt ? undefined : ({ triedAt, ...mail }) => mail);
  }
  if (code === allSuppressedCode) return endSuppressed(key, deps);
  const lastError = `The PIN email was not accepted: ${code ?? kind}.`;
  return sendLater(lastError, { retryAfterSeconds, mayBeSent: inDoubt, code }, deps);
}

/** Measures how long the PIN email of a security key has been due and not sent. */
export function measureUnsentMail({ mail }: SecurityKey, now: Instant): void {
  if (mail.state !== "due" || mail.firstDueAt === undefined) return;
  measure("pin_mail.unsent.age", between(mail.firstDueAt, now) / 1000);
}
