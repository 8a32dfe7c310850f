import { Fault } from "../../fault.ts";
import type { AuthDeps } from "../deps.ts";
import type { Session, SessionKey } from "../model/session.ts";
import { accessToStore, createSession, isLive, sessionKey } from "../model/session.ts";
import type { Stored, User } from "../store.ts";

/** A session that lives, with its user (decision A15). */
export interface LiveSession {
  readonly key: SessionKey;
  readonly session: Stored<Session>;
  readonly user: Stored<User>;
}

/** Begins a session of a user as read at the login; a reset in between makes it none (decision A15). Returns its value. */
export async function beginSession(
  { value: user }: Stored<User>,
  prefix: string | undefined,
  { sessions, rules, now, random }: AuthDeps,
): Promise<string> {
  const { value, key, session } = createSession({
    user,
    prefix,
    now: now(),
    absoluteMs: rules.session.absoluteMs,
    random,
  });
  await sessions.begin(key, session);
  return value;
}

/**
 * The live session of a presented value; its access time is written at most once a minute, and never where a logout came first.
 * Throws Fault `unauthenticated` with the sentence that the specification fixes.
 */
export async function requireSession(
  presented: string | undefined,
  deps: AuthDeps,
  { touch = true }: { touch?: boolean } = {},
): Promise<LiveSession> {
  const { sessions, rules, now } = deps;
  const key = presented === undefined ? undefined : sessionKey(presented);
  if (key === undefined) throw sessionRequired();
  const { session, user } = await sessions.find(key);
  if (session === undefined || user === undefined) throw sessionRequired();
  if (!isLive(session.value, user.value, now(), rules.session)) throw sessionRequired();
  const accessedAt = touch ? accessToStore(session.value, now(), rules.session) : undefined;
  if (accessedAt === undefined) return { key, session, user };
  const touched = await sessions.save(key, session, { epoch: session.value.epoch, accessedAt });
  return { key, session: touched ?? session, user };
}

/** The refusal whose sentence the specification fixes (section 5). */
export const sessionRequired = (): Fault => new Fault("unauthenticated", "Session required!", { reason: "no_session" });

/**
 * Takes a session into its user's next epoch (decision A15). One that ended meanwhile stays so, and one that was ended with the user's
 * others is of another epoch all the same.
 */
export async function keepSession(
  { key, session }: LiveSession,
  epoch: number,
  { sessions, now }: Pick<AuthDeps, "sessions" | "now">,
): Promise<void> {
  let current: Stored<Session> | undefined = session;
  while (current !== undefined) {
    if ((await sessions.save(key, current, { epoch, accessedAt: now() })) !== undefined) return;
    current = (await sessions.find(key)).session;
  }
}

/** Ends a session; one that is none already is fine. */
export async function endSession(presented: string | undefined, { sessions }: AuthDeps): Promise<void> {
  const key = presented === undefined ? undefined : sessionKey(presented);
  if (key !== undefined) await sessions.end(key);
}
