import { withSession } from "../../../support/auth/test-auth.ts";
import type { Draw } from "../draw.ts";
import { change, type Step } from "./calls.ts";
import { ended } from "./history.ts";
import type { KnownOtpKey, KnownSession, KnownUser, World } from "./world.ts";

/** An OTP that a user types, mostly a new one. */
interface TypedOtp {
  readonly otp: string;
  readonly factor: number;
  readonly otpkey: KnownOtpKey;
  readonly by: KnownOtpKey["software"];
}

/** Signs in with a password of the user, and mostly with an OTP; sometimes only asks whether that would do. */
export async function signInStep(step: Step, user: KnownUser): Promise<void> {
  const { draw, world, host, sound } = step;
  const typed = typeOtp(draw, world, user);
  const username = draw.pick(user.name.possible());
  const password = draw.chance(0.95) ? draw.pick(user.password.possible()) : draw.pick(world.passwords);
  const fields = { username, password, ...(typed && { otp: typed.otp }) };
  const verb = draw.chance(0.8) ? "login" : "authenticate";
  const from = world.moments.next();
  const what = `${verb} as ${username} with ${typed?.otp ?? "no OTP"}`;
  await change(
    step,
    what,
    () => host.post(`/client/${verb}`, fields),
    [],
    async ({ status, body }) => {
      if (status !== 200 || body === false) return;
      const to = world.moments.next();
      noteOtp(world, typed, { what, from, to });
      if (verb === "authenticate") return;
      const { session } = body as { session: string };
      const seen = await sound.call("GET", "/client/status", { headers: withSession(session) });
      // It has ended meanwhile: nothing tells whose it was.
      if (seen.status !== 200) return;
      const owner = ownerOf(world, (seen.body as { user_id: number }).user_id, { username, password, from });
      const isRight =
        owner?.exists.possible(from, to).includes(true) &&
        owner.name.possible(from, to).includes(username) &&
        owner.password.possible(from, to).includes(password) &&
        (typed === undefined ? !needsOtp(world, owner, { from, to }) : mayUse(owner, typed.otpkey, { from, to }));
      if (!isRight) world.wrong.push(`${what} was granted to ${owner?.id}`);
      if (owner) world.addSession({ value: session, user: owner, prefix: typed?.otpkey.prefix, from });
    },
  );
}

/** Changes the password of a session's user, with a current password and mostly an OTP. */
export async function changePasswordStep(step: Step, session: KnownSession): Promise<void> {
  const { draw, world, host } = step;
  const { user } = session;
  const typed = typeOtp(draw, world, user);
  const newpass = world.newPassword();
  const oldpass = draw.pick(user.password.possible());
  const fields = { newpass, oldpass, ...(typed && { otp: typed.otp }) };
  const writes = [user.password.begin(newpass), world.endSessions(each => each.user === user && each !== session)];
  // The session goes on after a response; without one it may have ended, as all others.
  const own = session.lives.begin(false);
  const from = world.moments.next();
  const what = `change the password of ${user.id}`;
  const headers = withSession(session.value);
  await change(
    step,
    what,
    () => host.post("/client/password", fields, headers),
    writes,
    ({ status }) => {
      if (status !== 503) ended([own], "refused", world.moments.next());
      if (status !== 200) return;
      const to = world.moments.next();
      noteOtp(world, typed, { what, from, to });
      if (!user.password.possible(from, to).includes(oldpass))
        world.wrong.push(`${what} was granted with a former one`);
    },
  );
}

/** A user whose creation had no response is known from the first login on. */
function ownerOf(
  world: World,
  id: number,
  { username, password, from }: { readonly username: string; readonly password: string; readonly from: number },
): KnownUser | undefined {
  const known = world.users.find(user => user.id === id);
  if (known !== undefined) return known;
  const created = world.unknownCreates.find(each => each.password === password);
  return created && world.addUser({ id, name: username, password, from: from - 1 });
}

function typeOtp(draw: Draw, { otpkeys }: World, user: KnownUser): TypedOtp | undefined {
  if (draw.chance(0.3)) return undefined;
  const own = otpkeys.filter(({ prefix }) => user.otpkeys.get(prefix)?.possible().includes(true));
  const otpkey = draw.pick(own.length > 0 && draw.chance(0.9) ? own : otpkeys);
  const isReplay = otpkey.nextFactor > 0 && draw.chance(0.25);
  const factor = isReplay ? otpkey.nextFactor - 1 : otpkey.nextFactor++;
  return { otp: otpkey.software.otp(factor), factor, otpkey, by: otpkey.software };
}

interface Call {
  readonly what: string;
  readonly from: number;
  readonly to: number;
}

/** An OTP counts once, and none counts that is older than one that counted before (A8). */
function noteOtp(world: World, typed: TypedOtp | undefined, { what, from, to }: Call): void {
  if (typed === undefined) return;
  const { otp, factor, otpkey, by } = typed;
  for (const before of otpkey.accepted.filter(each => each.by === by)) {
    if (before.otp === otp) world.wrong.push(`${what}: the OTP was accepted before`);
    if (before.factor > factor && before.until < from) world.wrong.push(`${what}: a later OTP was accepted before`);
  }
  otpkey.accepted.push({ otp, factor, by, until: to });
}

type During = Pick<Call, "from" | "to">;

const mayUse = (user: KnownUser, { prefix, enabled }: KnownOtpKey, { from, to }: During): boolean =>
  enabled.possible(from, to).includes(true) && user.otpkeys.get(prefix)?.possible(from, to).includes(true) === true;

/** Whether the user had an enabled OTP key all the time (A5). */
const needsOtp = ({ otpkeys }: World, user: KnownUser, { from, to }: During): boolean =>
  otpkeys.some(
    ({ prefix, enabled, exists }) =>
      enabled.possible(from, to).every(Boolean) &&
      !exists.possible(from, to).includes("absent") &&
      user.otpkeys.get(prefix)?.possible(from, to).every(Boolean),
  );
