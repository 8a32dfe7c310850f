import { Fault } from "../../platform/fault.ts";
import { warnOnError } from "../../platform/log.ts";
import type { AuthDeps } from "../deps.ts";
import { possiblePrefixes } from "../otpkeys/kinds/split-otp.ts";
import { splitTemporaryOtp } from "../otpkeys/kinds/temporary-code.ts";
import { tooManyKeys } from "../otpkeys/manage-otpkeys.ts";
import type { HashSlot } from "../passwords/hash-queue.ts";
import { type LiveSession, sessionRequired } from "../sessions/manage-sessions.ts";
import type { KeyHolders, User } from "../store.ts";
import { foldUsername } from "../users/username.ts";
import {
  type Attempt,
  concludeAttempt,
  countAddress,
  newAttempt,
  padTiming,
  reserveSlot,
  withdraw,
} from "./attempt.ts";
import { invalidCredentials } from "./change-password.ts";
import { checkOtp, type OtpCandidates, wrongOtp } from "./check-otp.ts";

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
  const attempt = newAttempt(deps);
  let decision: Decision;
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
  if (fault !== undefined) throw fault;
  return decision.prefix;
}

/** The decision on a self-assignment: what its audit event has, and the response to a refused one. */
type Decision = { readonly otpOutcome: string | undefined } & (
  | { readonly outcome: "granted"; readonly prefix: string; readonly fault?: undefined }
  | { readonly outcome: "refused"; readonly prefix: string | undefined; readonly reason: string; readonly fault: Fault }
);

async function decide(
  user: User,
  { password, otp }: Given,
  attempt: Attempt,
  hashSlot: HashSlot,
  deps: AuthDeps,
): Promise<Decision> {
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
  const { prefix } = result ?? {};
  const found = { otpOutcome: result?.outcome, prefix };
  const refused = (reason: string, fault: Fault): Decision => ({ outcome: "refused", reason, ...found, fault });
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
  if (outcome === "assigned") return { outcome: "granted", ...found, prefix };
  if (outcome === "no_user") return refused(outcome, sessionRequired());
  if (outcome === "too_many") return refused(outcome, tooManyKeys());
  return refused(outcome, new Fault("conflict", "The otpkey is assigned already."));
}

/** The OTP keys that an OTP may belong to. */
interface FoundKeys {
  readonly all: OtpCandidates;
  /** Those that no other user has. */
  readonly free: OtpCandidates;
}

/** Reads the OTP keys that the OTP may belong to. A temporary code does not prove that the user has the key. */
async function readKeys(otp: string, user: User, deps: AuthDeps): Promise<FoundKeys> {
  if (splitTemporaryOtp(otp) !== undefined) return { all: [], free: [] };
  const read = await Promise.all(possiblePrefixes(otp).map(prefix => deps.otpkeys.findHolders(prefix)));
  const found = read.filter(holders => holders !== undefined);
  const areFree = await Promise.all(found.map(holders => isFree(holders, user, deps)));
  const all = found.map(({ key }) => key);
  return { all, free: all.filter((_, index) => areFree[index]) };
}

/** Maximum number of users whose assignment is read. More are not left by crashes: the OTP key is shared. */
const maxCandidates = 8;

/** Returns whether no other user has the OTP key. A candidate whom a crash left has no assignment. */
async function isFree({ key, userIds }: KeyHolders, user: User, { users }: AuthDeps): Promise<boolean> {
  const others = userIds.filter(id => id !== user.id);
  if (others.length > maxCandidates) return false;
  const found = await Promise.all(others.map(id => users.find({ by: "id", id })));
  return !found.some(other => other?.value.otpkeys.some(({ id }) => id === key.value.id));
}
