import { earliest, type Instant, plus } from "../../time.ts";
import type { ConnectorDeps, LoadedRequest } from "../deps.ts";
import { isWaiting } from "../model/credential.ts";
import { type CredentialRequest, type Due, isOnSite, type Queue, queueOf, type SecurityKey } from "../model/request.ts";
import { type BackOff, firstAttempt, postpone } from "../model/retry.ts";
import { isTerminal } from "../model/states.ts";

type Clock = Pick<ConnectorDeps, "now" | "intervals">;

/** The key with its hold given back and the time of its next work. */
export function releaseLease({ lease, due, ...key }: SecurityKey, clock: Clock): SecurityKey {
  const next = nextDue(key) ?? forgetDue(key, clock);
  return { ...key, ...(next && { due: next }) };
}

/**
 * Returns the request with its lease released and its next attempt in a queue.
 * @param retryAfter seconds that the peer asked to wait
 */
export function postponeRequest(
  { lease, ...request }: CredentialRequest,
  queue: Queue,
  backOff: BackOff,
  { now }: Pick<Clock, "now">,
  retryAfter?: number,
): CredentialRequest {
  const { attempts, nextAt, notBefore } = postpone(request, now(), backOff, { retryAfter });
  return { ...request, attempts, due: { queue, at: nextAt, ...(notBefore !== undefined && { notBefore }) } };
}

/** A key that may have ended without being worked on: its copy of the responses is clean-up's then. */
export function withPurgeDue(key: SecurityKey, clock: Clock): SecurityKey {
  const due = key.mail.state === "due" ? undefined : forgetDue(key, clock);
  return due === undefined ? key : { ...key, due };
}

/** The earliest of what the key still waits for. */
function nextDue(key: Pick<SecurityKey, "credentials" | "mail" | "enrollment" | "ofShipmentV1">): Due | undefined {
  const waiting = [
    ...(isWaiting(key) ? [key.enrollment] : []),
    ...key.credentials.filter(({ state }) => state === "activation_pending").map(({ retry }) => retry),
    ...(key.mail.state === "due" ? [key.mail.retry] : []),
  ].filter(retry => retry !== undefined);
  const at = earliest(...waiting.map(({ nextAt }) => nextAt));
  if (at === undefined) return undefined;
  const allWait = waiting.every(({ notBefore }) => notBefore !== undefined);
  const notBefore = allWait ? earliest(...waiting.map(retry => retry.notBefore)) : undefined;
  return { queue: queueOf(key), at, ...(notBefore !== undefined && { notBefore }) };
}

/** When the copy of an ended key's responses has served its time (decision C14). */
function forgetDue(
  { responses, state, mail }: Pick<SecurityKey, "state" | "responses" | "mail">,
  { now, intervals: timing }: Clock,
): Due | undefined {
  if (responses === undefined || !isTerminal(state)) return undefined;
  const since: Instant = mail.sentAt ?? now();
  return { queue: "purge", at: plus(since, timing.retryFor) };
}

/**
 * The authenticators that wait to be enrolled, each with its first poll (decision C15).
 */
export function withPollDue(
  { keys }: LoadedRequest,
  { now, intervals: timing }: Pick<ConnectorDeps, "now" | "intervals">,
): readonly SecurityKey[] {
  const at = plus(now(), timing.enrollmentPoll.minMs);
  return keys
    .map(({ value }) => value)
    .filter(key => isOnSite(key) && key.state === "processing" && key.enrollment === undefined)
    .map(key => ({ ...key, enrollment: firstAttempt(at), due: { queue: queueOf(key), at } }));
}
