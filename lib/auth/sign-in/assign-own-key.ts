import { Fault } from "../../platform/fault.ts";
import { warnOnError } from "../../platform/log.ts";
import type { AuthDeps } from "../deps.ts";
import { possiblePrefixes } from "../otpkeys/kinds/split-otp.ts";
import { splitTemporaryOtp } from "../otpkeys/kinds/temporary-code.ts";
import { tooManyKeys } from "../otpkeys/manage-otpkeys.ts";
import { type LiveSession, sessionRequired } from "../sessions/manage-sessions.ts";
import type { KeyHolders, User } from "../store.ts";
import { foldUsername } from "../users/username.ts";
import {
  type AttemptReservations,
  concludeAttempt,
  countAddress,
  newAttempt,
  padTiming,
  reserveSlot,
  uncountAddress,
} from "./attempt.ts";
import { checkOtp, type OtpCandidates, type OtpResult, wrongOtp } from "./check-otp.ts";
import { withdraw } from "./conclude.ts";

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
  const reservations: AttemptReservations = {};
  let decision: Decision;
  try {
    decision = await decide(user, given, { address, reservations }, deps);
  } catch (error) {
    audit(await withdraw(error, reservations, deps));
    throw error;
  }
  const { fault, ...event } = decision;
  audit(event);
  if (fault !== undefined) throw fault;
  return decision.prefix;
}

/** The decision on a self-assignment: what its audit event has, and the response to a refused one. */
type Decision = { readonly otpOutcome?: string | undefined } & (
  | { readonly outcome: "granted"; readonly prefix: string; readonly fault?: undefined }
  | {
      readonly outcome: "refused";
      readonly prefix?: string | undefined;
      readonly reason: string;
      readonly fault: Fault;
    }
);

async function decide(
  user: User,
  { password, otp }: Given,
  { address, reservations }: { readonly address: string | undefined; readonly reservations: AttemptReservations },
  deps: AuthDeps,
): Promise<Decision> {
  using hashSlot = deps.hasher.acquireHashSlot({ isKnown: true });
  reservations.counted = await countAddress(address, deps);
  const userRef = { by: "id", id: user.id } as const;
  const key = { kind: "name", text: foldUsername(user.name) } as const;
  const attempt = newAttempt(await deps.throttles.find(key, user.id), deps);
  reservations.attempt = attempt;
  const read = () => Promise.all([deps.users.find(userRef), readKeys(otp, user, deps)]);
  const [current, keys] = await reserveSlot(attempt, read, deps);
  if (current?.value.epoch !== user.epoch) throw sessionRequired();
  const isRight = await deps.hasher.verify(password, current.value, hashSlot);
  const result = isRight ? await checkFreeKey(otp, keys, deps) : undefined;
  const found = { otpOutcome: result?.outcome, prefix: result?.key?.prefix };
  if (result?.outcome !== "valid" || result.key === undefined) {
    // A counted wrong OTP costs one write. If none was made, makes a dummy write, so that timing does not reveal
    // whether the password was right.
    if (!result?.written) await padTiming(attempt, deps);
    const refused = result === undefined ? { reason: "wrong_password" } : wrongOtp(result);
    await concludeAttempt(attempt, { refused }, deps);
    return {
      outcome: "refused",
      reason: refused.reason,
      ...found,
      fault: new Fault("unauthenticated", "Invalid credentials!"),
    };
  }
  const { prefix } = result.key;
  const [outcome] = await Promise.all([
    deps.otpkeys.assign(userRef, prefix, { onlyIfFree: true, epoch: user.epoch }),
    // The assignment decides the outcome: a slot that is not released counts as a failure later.
    warnOnError("attempt_not_concluded", concludeAttempt(attempt, "succeeded", deps), deps),
    warnOnError("address_not_uncounted", uncountAddress(reservations, deps), deps),
  ]);
  if (outcome === "assigned") return { outcome: "granted", ...found, prefix };
  const faults = { no_user: sessionRequired, too_many: tooManyKeys };
  const fault =
    outcome in faults
      ? faults[outcome as keyof typeof faults]()
      : new Fault("conflict", "The otpkey is assigned already.");
  return { outcome: "refused", reason: outcome, ...found, fault };
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

/** Checks an OTP of a free key. That of another one is neither checked nor used up. */
function checkFreeKey(otp: string, { all, free }: FoundKeys, deps: AuthDeps): Promise<OtpResult> {
  const accepted = free.map(({ value: { prefix, id } }) => ({ prefix, id }));
  return checkOtp(otp, all, { accepted, isCounted: true, onlyAccepted: true }, deps);
}
