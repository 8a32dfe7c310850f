import { type Instant, instant, minutes, plus } from "../../platform/time.ts";
import type { Idp } from "../idp/contract.ts";
import type { Clock, Intervals } from "../model/intervals.ts";
import { isOnSite, type SecurityKey } from "../model/security-key.ts";
import type { Challenge } from "../model/webauthn.ts";

/** Clocks differ, and an IdP may round its time. */
const toleranceMs = minutes(5);

/**
 * The time from an order to the first poll that can find its security keys programmed. A challenge that ends earlier is
 * of no use for them: the keys would be shipped, and their credentials never activated (C6).
 */
export const shippedChallengeMs = ({ shipmentPoll, productionMs }: Pick<Intervals, "shipmentPoll" | "productionMs">) =>
  shipmentPoll.minMs + productionMs;

/**
 * Returns why a challenge cannot lead to an active credential on a security key, and what to change, as a sentence for
 * the caller; undefined if it can. An authenticator on site only needs a challenge that has not ended: its enrollment
 * may follow at once, and a call of process-credential-requests activates it without waiting for the first poll.
 */
export function challengeProblem(
  { options, expiresAt }: Challenge,
  key: Pick<SecurityKey, "provisioning">,
  { id, longerChallengesHint }: Pick<Idp, "id" | "longerChallengesHint">,
  { now, intervals }: Clock,
): string | undefined {
  const peer = `identity provider ${id}`;
  const selection = options.authenticatorSelection?.authenticatorAttachment;
  if (!isOnSite(key) && selection === "platform")
    return `The ${peer} asks for a platform authenticator (authenticatorSelection.authenticatorAttachment), which no shipped security key is. Allow cross-platform authenticators in its policy.`;
  if (expiresAt === undefined) return undefined;
  const neededUntil = isOnSite(key) ? now() : plus(now(), shippedChallengeMs(intervals));
  if (instant(expiresAt.getTime()) > neededUntil) return undefined;
  const reason = isOnSite(key)
    ? "and is over already: compare the clocks"
    : `before a shipped security key can be programmed (${neededUntil})`;
  return `The challenge of the ${peer} ends at ${expiresAt.toISOString()}, ${reason}. ${longerChallengesHint}`;
}

/**
 * Returns that a user would have more credentials than the IdP's vendor recommends, as the rest of a sentence that
 * begins with the user; undefined if not. The creation options list the credentials that exist.
 * @param newCredentials how many the request orders for the user
 */
export function tooManyCredentials(
  { options }: Challenge,
  { recommendedCredentials }: Pick<Idp, "recommendedCredentials">,
  newCredentials: number,
): string | undefined {
  const existing = options.excludeCredentials?.length ?? 0;
  if (recommendedCredentials === undefined || existing + newCredentials <= recommendedCredentials) return undefined;
  return `has ${existing} passkeys and would get ${newCredentials} more, but should have at most ${recommendedCredentials}: delete those that are no longer used`;
}

/** Whether the IdP grants a challenge that ends clearly earlier than the one that the settings ask for. */
export const isShortened = ({ expiresAt, askedExpiry }: Challenge): boolean =>
  expiresAt !== undefined && askedExpiry !== undefined && expiresAt.getTime() < askedExpiry.getTime() - toleranceMs;

/** Whether the challenge of an authenticator on site ends before its first poll: only a call activates it in time. */
export const endsBeforePoll = (
  { expiresAt }: Challenge,
  key: Pick<SecurityKey, "provisioning">,
  { now, intervals }: Clock,
): boolean => isOnSite(key) && expiresAt !== undefined && instant(expiresAt.getTime()) <= firstPoll(now(), intervals);

const firstPoll = (now: Instant, { enrollmentPoll }: Pick<Intervals, "enrollmentPoll">) =>
  plus(now, enrollmentPoll.minMs);
