import { withSession } from "../../../support/auth/test-auth.ts";
import type { Random } from "../random.ts";
import { type Step, startCall } from "./calls.ts";
import { endWrites } from "./history.ts";
import type { KnownOtpKey, KnownSession, KnownState, KnownUser } from "./known-state.ts";

/** An OTP that a user types. */
interface TypedOtp {
  readonly otp: string;
  readonly counter: number;
  readonly otpkey: KnownOtpKey;
  readonly software: KnownOtpKey["software"];
}

/** A sign-in as its caller sees it. */
interface SignIn {
  readonly what: string;
  readonly username?: string;
  readonly password: string;
  readonly typed: TypedOtp | undefined;
  readonly from: number;
  readonly to: number;
}

/** Signs in, or sometimes only authenticates, with a password of the user and mostly with an OTP. */
export async function signInStep(step: Step, user: KnownUser): Promise<void> {
  const { random, known, host, healthyHost } = step;
  const typed = typeOtp(random, known, user);
  const username = random.pick(user.name.possible());
  const password = random.chance(0.95) ? random.pick(user.password.possible()) : random.pick(known.passwords);
  const fields = { username, password, ...(typed && { otp: typed.otp }) };
  const verb = random.chance(0.8) ? "login" : "authenticate";
  const from = known.clock.next();
  const what = `${verb} as ${username} with ${typed?.otp ?? "no OTP"}`;
  await startCall(
    step,
    what,
    () => host.post(`/client/${verb}`, fields),
    [],
    async ({ status, body }) => {
      if (status !== 200 || body === false) return;
      const signIn = { what, username, password, typed, from, to: known.clock.next() };
      recordOtp(known, signIn);
      if (verb === "authenticate") {
        const isUnknown = [...known.unknownCreates].some(each => each.password === password);
        if (!isUnknown && !known.users.some(each => isAllowed(known, each, signIn))) known.wrong.push(`${what}: true`);
        return;
      }
      const { session } = body as { session: string };
      const seen = await healthyHost.call("GET", "/client/status", { headers: withSession(session) });
      // The session has already ended, so its user is not known.
      if (seen.status !== 200) return;
      const owner = ownerOf(known, (seen.body as { user_id: number }).user_id, signIn);
      if (owner === undefined || !isAllowed(known, owner, signIn)) known.wrong.push(`${what} was granted`);
      if (owner) known.addSession({ value: session, user: owner, prefix: typed?.otpkey.prefix, from });
    },
  );
}

/** Changes the password of a session's user, with a current password and mostly an OTP. */
export async function changePasswordStep(step: Step, session: KnownSession): Promise<void> {
  const { random, known, host } = step;
  const { user } = session;
  const typed = typeOtp(random, known, user);
  const newpass = known.newPassword();
  const password = random.pick(user.password.possible());
  const fields = { newpass, oldpass: password, ...(typed && { otp: typed.otp }) };
  const from = known.clock.next();
  const writes = [user.password.begin(newpass), known.endSessions(each => each.user === user && each !== session)];
  // The session continues, unless the host logs `session_not_continued`. After a 503 it may have ended.
  const ownEnd = session.isAlive.begin(false);
  const notContinued = () => host.events("session_not_continued").length;
  const notContinuedBefore = notContinued();
  const what = `change the password of ${user.id}`;
  const headers = withSession(session.value);
  await startCall(
    step,
    what,
    () => host.post("/client/password", fields, headers),
    writes,
    ({ status }) => {
      if (status !== 503 && notContinued() === notContinuedBefore) endWrites([ownEnd], "refused", known.clock.next());
      if (status !== 200) return;
      const signIn = { what, password, typed, from, to: known.clock.next() };
      recordOtp(known, signIn);
      if (!isAllowed(known, user, signIn)) known.wrong.push(`${what} was granted`);
    },
  );
}

/** Returns the user of an id. A user whose creation had no response becomes known at the first login. */
function ownerOf(known: KnownState, id: number, { password, from }: SignIn): KnownUser | undefined {
  const user = known.users.find(each => each.id === id);
  if (user !== undefined) return user;
  const created = [...known.unknownCreates].find(each => each.password === password);
  if (created === undefined) return undefined;
  known.unknownCreates.delete(created);
  return known.addUser({ id, ...created, from });
}

function typeOtp(random: Random, { otpkeys }: KnownState, user: KnownUser): TypedOtp | undefined {
  if (random.chance(0.3)) return undefined;
  const own = otpkeys.filter(({ prefix }) => user.otpkeys.get(prefix)?.possible().includes(true));
  const otpkey = random.pick(own.length > 0 && random.chance(0.9) ? own : otpkeys);
  const isReplay = otpkey.nextCounter > 0 && random.chance(0.25);
  const counter = isReplay ? otpkey.nextCounter - 1 : otpkey.nextCounter++;
  const { software } = otpkey;
  return { otp: software.otp(counter), counter, otpkey, software };
}

/** An OTP is accepted once, and not after a later one (A8). */
function recordOtp(known: KnownState, { what, typed, from, to }: SignIn): void {
  if (typed === undefined) return;
  const { counter, otpkey, software } = typed;
  for (const before of otpkey.accepted.filter(each => each.software === software)) {
    if (before.counter === counter) known.wrong.push(`${what}: the OTP was accepted before`);
    if (before.counter > counter && before.respondedAt < from)
      known.wrong.push(`${what}: a later OTP was accepted before`);
  }
  otpkey.accepted.push({ counter, software, respondedAt: to });
}

/** Whether the user, the password and the OTP could be right at some time of the call. */
function isAllowed(known: KnownState, user: KnownUser, { username, password, typed, from, to }: SignIn): boolean {
  const isRight =
    user.exists.possible(from, to).includes(true) &&
    (username === undefined || user.name.possible(from, to).includes(username)) &&
    user.password.possible(from, to).includes(password);
  if (!isRight) return false;
  if (typed === undefined) return !known.otpkeys.some(otpkey => mustUse(user, otpkey, from, to));
  const { prefix, enabled, exists } = typed.otpkey;
  return (
    exists.possible(from, to).includes("imported") &&
    enabled.possible(from, to).includes(true) &&
    user.otpkeys.get(prefix)?.possible(from, to).includes(true) === true
  );
}

/** Whether the user had the OTP key, and it was enabled, during the whole call (A5). */
const mustUse = (user: KnownUser, { prefix, enabled, exists }: KnownOtpKey, from: number, to: number): boolean =>
  enabled.possible(from, to).every(Boolean) &&
  !exists.possible(from, to).includes("absent") &&
  user.otpkeys.get(prefix)?.possible(from, to).every(Boolean) === true;
