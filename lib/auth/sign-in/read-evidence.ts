import { chunksOf } from "../../platform/chunks.ts";
import type { Stored } from "../../platform/stored.ts";
import type { AuthDeps } from "../deps.ts";
import type { AssignedKey, KeyHolders, OtpKey, User } from "../store.ts";
import { foldUsername } from "../users/username.ts";
import { type OtpCandidates, readCandidates } from "./check-otp.ts";
import type { Credentials, Identified } from "./identify.ts";
import { identifyByKey } from "./policy.ts";

/** What is read from storage to decide an attempt. */
export interface Evidence {
  /** Absent: there is no such user. */
  readonly user?: Stored<User> | undefined;
  /** OTP keys that the OTP may belong to. */
  readonly candidates: OtpCandidates;
}

/** Reads the user and the OTP keys in parallel. */
export async function readEvidence(identified: Identified, { otp }: Credentials, deps: AuthDeps): Promise<Evidence> {
  const { byOtp } = identified;
  const [user, candidates] = await Promise.all([
    byOtp === undefined ? readNamedUser(identified, deps) : findHolder(byOtp.key, identified.named, deps),
    byOtp?.found.map(({ key }) => key) ?? (otp === undefined ? [] : readCandidates(otp, deps)),
  ]);
  return { user, candidates };
}

/**
 * Reads the user who has the name. Without an id reads a user who cannot exist, so that timing does not reveal whether
 * the name leads to one.
 */
async function readNamedUser({ named, user }: Identified, { users }: AuthDeps): Promise<Stored<User> | undefined> {
  const found = await (user === undefined ? users.findNone(named) : users.find({ by: "id", id: user.id }));
  return found !== undefined && foldUsername(found.value.name) === named ? found : undefined;
}

/** Number of users that are read in parallel. */
const batchSize = 8;

/** Returns the user whom an OTP key identifies: it is enabled and assigned to that user only. */
async function findHolder(
  holders: KeyHolders | undefined,
  named: string,
  { users }: AuthDeps,
): Promise<Stored<User> | undefined> {
  const { key, userIds = [] } = holders ?? {};
  const found: Stored<User>[] = [];
  // Two holders are enough to know that the key identifies no user.
  for (const some of chunksOf(userIds, batchSize)) {
    if (found.length >= 2) break;
    const read = await Promise.all(some.map(id => users.find({ by: "id", id })));
    const isHolding = (user: Stored<User>) => user.value.otpkeys.some(({ id }) => id === key?.value.id);
    found.push(...read.filter(user => user !== undefined).filter(isHolding));
  }
  // Without an id does a dummy read, so that timing does not reveal whether the key is assigned.
  if (userIds.length === 0) await users.findNone(named);
  const ids = found.map(({ value }) => value.id);
  const id = identifyByKey({ enabled: key?.value.enabled === true, users: ids });
  return found.find(({ value }) => id !== undefined && value.id === id);
}

/**
 * Returns whether the user has an OTP key that is enabled, also if it is stopped, or that has a temporary code. Without
 * an OTP key reads one that cannot exist, so that timing does not reveal whether the user has one.
 */
export async function readSecondFactor(
  assigned: readonly AssignedKey[],
  named: string,
  { otpkeys, rules }: AuthDeps,
): Promise<boolean> {
  if (rules.otpPolicy !== "when-assigned") return false;
  if (assigned.length === 0) {
    await otpkeys.findNone(named);
    return false;
  }
  const own = await Promise.all(assigned.map(({ prefix }) => otpkeys.find(prefix)));
  // A user with a temporary code, also one that is used up, needs a second factor: otherwise the password alone would
  // be sufficient.
  const isSecondFactor = ({ enabled, temporaryCode }: OtpKey) => enabled || temporaryCode !== undefined;
  return own.some(
    key => key !== undefined && isSecondFactor(key.value) && assigned.some(({ id }) => id === key.value.id),
  );
}
