import { Fault } from "../../platform/fault.ts";
import { warnOnError } from "../../platform/log.ts";
import type { AuthDeps } from "../deps.ts";
import { possiblePrefixes } from "../otpkeys/kinds/split-otp.ts";
import { splitTemporaryOtp } from "../otpkeys/kinds/temporary-code.ts";
import { tooManyKeys } from "../otpkeys/manage-otpkeys.ts";
import type { HashSlot } from "../passwords/hash-queue.ts";
import { type LiveSession, sessionRequired } from "../sessions/manage-sessions.ts";
import type { User } from "../store.ts";
import { newWriteId } from "../tables.table.ts";
import { foldUsername } from "../users/username.ts";
import { type Attempt, concludeAttempt, countAddress, padTiming, reserveSlot, withdraw } from "./attempt.ts";
import { invalidCredentials } from "./change-password.ts";
import { checkOtp, wrongOtp } from "./check-otp.ts";
import { readHolders } from "./identify.ts";

interface Given {
  readonly password: string;
  readonly otp: string;
}

/**
 * Assigns an unassigned OTP key to the user of a session, who sends one of its OTPs. Checks the password and throttles
 * attempts as at a sign-in. Does not check an OTP of a key that is assigned to another user, so that it is not used up.
 * The session must not end before the assignment is written.
 * Throws Fault `forbidden` if the deployment does not allow it, `unauthenticated` for wrong credentials, `conflict` if
 * the key was assigned to another user meanwhile, `throttled`, `unavailable`.
 * @returns the prefix of the assigned key
 */
export async function assignOwnKey(
  { user: { value: user } }: LiveSession,
  given: Given,
  deps: AuthDeps,
  { address }: { readonly address?: string | undefined },
): Promise<string> {
  if (!deps.rules.selfAssign) throw new Fault("forbidden", "Users may not assign otpkeys themselves.");
  const audit = (outcome: object) =>
    deps.log.info("self_assignment", { userId: user.id, username: user.name, ...outcome });
  const attempt: Attempt = { id: newWriteId(deps) };
  let decision: Awaited<ReturnType<typeof decide>>;
  try {
    using hashSlot = deps.hasher.acquireHashSlot({ isKnown: true });
    await countAddress(attempt, address, deps);
    decision = await decide(user, given, attempt, hashSlot, deps);
  } catch (error) {
    audit(await withdraw(error, attempt, deps));
    throw error;
  }
  const { fault, ...event } = decision;
  audit(event);
  if (decision.outcome === "refused") throw fault;
  return decision.prefix;
}

const assignedAlready = () => new Fault("conflict", "The otpkey is assigned already.");
const assignFaults = {
  no_user: sessionRequired,
  too_many: tooManyKeys,
  no_key: assignedAlready,
  taken: assignedAlready,
};

async function decide(user: User, { password, otp }: Given, attempt: Attempt, hashSlot: HashSlot, deps: AuthDeps) {
  const { id, epoch, name } = user;
  const userRef = { by: "id", id } as const;
  attempt.throttle = await deps.throttles.find({ kind: "name", text: foldUsername(name) }, id);
  const read = () => Promise.all([deps.users.find(userRef), readKeys(otp, user, deps)]);
  const [current, { all, free }] = await reserveSlot(attempt, read, deps);
  if (current?.value.epoch !== epoch) throw sessionRequired();
  const isRight = await deps.hasher.verify(password, current.value, hashSlot);
  // An OTP of a key that is not free is neither checked nor used up.
  const rules = { accepted: free.map(({ value }) => value), isCounted: true, onlyAccepted: true };
  const result = isRight ? await checkOtp(otp, all, rules, deps) : undefined;
  const { prefix, outcome: otpOutcome } = result ?? {};
  const refused = (reason: string, fault: Fault) =>
    ({ outcome: "refused", reason, otpOutcome, prefix, fault }) as const;
  if (result?.outcome !== "valid" || prefix === undefined) {
    // A counted wrong OTP costs one write. If none was made, makes a dummy write, so that timing does not reveal
    // whether the password was right.
    if (!result?.written) await padTiming(attempt, deps);
    const refusal = result === undefined ? { reason: "wrong_password" } : wrongOtp(result);
    await concludeAttempt(attempt, { counts: "failure", refusal }, deps);
    return refused(refusal.reason, invalidCredentials());
  }
  const [outcome] = await Promise.all([
    deps.otpkeys.assign(userRef, prefix, { onlyIfFree: true, epoch }),
    // The assignment decides the outcome: a slot that is not released counts as a failure later.
    warnOnError("attempt_not_concluded", concludeAttempt(attempt, { counts: "success" }, deps), deps),
  ]);
  if (outcome !== "assigned") return refused(outcome, assignFaults[outcome]());
  return { outcome: "granted", otpOutcome, prefix, fault: undefined } as const;
}

/**
 * Reads the OTP keys that the OTP may belong to, and of them those that no other user has. A temporary code does not
 * prove that the user has the key.
 */
async function readKeys(otp: string, user: User, deps: AuthDeps) {
  const prefixes = splitTemporaryOtp(otp) === undefined ? possiblePrefixes(otp) : [];
  const read = await Promise.all(prefixes.map(prefix => deps.otpkeys.findHolders(prefix)));
  const found = read.filter(holders => holders !== undefined);
  const others = await Promise.all(
    found.map(({ key, userIds }) => readHolders({ key, userIds: userIds.filter(id => id !== user.id) }, deps)),
  );
  const all = found.map(({ key }) => key);
  return { all, free: all.filter((_, index) => others[index]?.length === 0) };
}
