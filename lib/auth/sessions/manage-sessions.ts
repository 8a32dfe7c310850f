import { Fault } from "../../platform/fault.ts";
import { conflict, retryOnConflict, type Stored } from "../../platform/stored.ts";
import { between } from "../../platform/time.ts";
import type { AuthDeps } from "../deps.ts";
import type { User } from "../store.ts";
import { deviceNumbers, isDeviceOf } from "./device-token.ts";
import { isLive, type Session, type SessionKey, sessionKey } from "./sessions.table.ts";

/** A valid session with its user (A15). */
export interface LiveSession {
  readonly key: SessionKey;
  readonly session: Stored<Session>;
  readonly user: Stored<User>;
}

/**
 * Returns the valid session of a presented value. With `touch`, updates its access time at most once a minute, and
 * never by an insert, so that an ended session is not recreated. Returns undefined for any other value.
 */
export async function findLiveSession(
  presented: string | undefined,
  deps: AuthDeps,
  { touch = true }: { touch?: boolean } = {},
): Promise<LiveSession | undefined> {
  const { sessions, rules, now } = deps;
  const key = presented === undefined ? undefined : sessionKey(presented);
  if (key === undefined) return undefined;
  const { session, user } = await sessions.find(key);
  if (session === undefined || user === undefined) return undefined;
  const { epoch, accessedAt } = session.value;
  if (!isLive(session.value, user.value, now(), rules.session)) return undefined;
  const isDue = touch && between(accessedAt, now()) >= rules.session.touchMs;
  const touched = isDue ? await sessions.save(key, session, { epoch, accessedAt: now() }) : undefined;
  return { key, session: touched ?? session, user };
}

/** Returns the Fault for a missing or invalid session. The specification fixes its text (section 5). */
export const sessionRequired = (): Fault => new Fault("unauthenticated", "Session required!", { reason: "no_session" });

/**
 * Moves a session to its user's next epoch, so that it stays valid. A session that has ended in the meantime stays
 * ended.
 */
export async function moveSessionToEpoch(
  { key, session }: LiveSession,
  epoch: number,
  { sessions, now }: Pick<AuthDeps, "sessions" | "now">,
): Promise<void> {
  let current: Stored<Session> | undefined = session;
  await retryOnConflict(async () => {
    if (current === undefined || (await sessions.save(key, current, { epoch, accessedAt: now() }))) return;
    current = (await sessions.find(key)).session;
    return conflict;
  });
}

/** Ends a session, if the presented value is one. */
export async function endSession(presented: string, { sessions }: AuthDeps): Promise<void> {
  const key = sessionKey(presented);
  if (key !== undefined) await sessions.end(key);
}

/**
 * Returns a device token for a user who has just signed in; undefined if the deployment has none. A device that
 * presents its token keeps its number, and so its throttle.
 */
export async function rememberDevice(
  user: User,
  token: string | undefined,
  deps: AuthDeps,
): Promise<string | undefined> {
  const { deviceTokens, rules, random, now, log } = deps;
  if (rules.deviceMs === 0) return undefined;
  const presented = await deviceTokens.open(token, now(), rules.deviceMs);
  const isKnown = presented !== undefined && isDeviceOf(presented, user);
  const number = isKnown ? presented.number : (random(1)[0] ?? 0) % deviceNumbers;
  const issued = await deviceTokens.issue({ userId: user.id, epoch: user.epoch, number, issuedAt: now() });
  log.info("device_remembered", { userId: user.id });
  return issued;
}
