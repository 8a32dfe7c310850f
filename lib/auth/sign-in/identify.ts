import type { Stored } from "../../platform/stored.ts";
import type { AuthDeps } from "../deps.ts";
import { possiblePrefixes, splitOtp } from "../otpkeys/kinds/split-otp.ts";
import { type Device, isDeviceOf } from "../sessions/device-token.ts";
import type { KeyHolders, ThrottleState, User, UserSummary } from "../store.ts";
import { foldUsername, parseUsername, type Username } from "../users/username.ts";
import { type Attempt, readThrottle } from "./attempt.ts";
import { type OtpCandidates, readCandidates } from "./check-otp.ts";
import { lockAt } from "./throttle.ts";

/** The credentials that a caller presents. No text is empty. */
export interface Credentials {
  readonly username?: string | undefined;
  readonly password?: string | undefined;
  /** The code of a reset, in place of the password. */
  readonly passwordCode?: string | undefined;
  readonly otp?: string | undefined;
}

/** The user whom credentials name. */
export interface Identified {
  /** The folded username, or the prefix of the OTP. A random text if they can name no user. */
  readonly named: string;
  /** The user to whom the username leads; the row of the user decides whether the user has the name. */
  readonly user?: UserSummary;
  /** Every OTP key that the OTP may belong to; present if the OTP identifies the user. */
  readonly keys?: OtpCandidates;
  /** The one of them whose kind matches the OTP. */
  readonly holders?: KeyHolders;
}

/**
 * Identifies the user by username, or by the OTP's prefix if the deployment allows that (A6), and reads the throttle
 * that counts the attempt. If the credentials can name no user, there is none, and other reads take the time (A5).
 */
export async function identify(
  { username, otp }: Credentials,
  attempt: Attempt,
  device: Device | undefined,
  deps: AuthDeps,
): Promise<Identified> {
  const parsed = username === undefined ? undefined : parseUsername(username);
  if (parsed?.ok) return identifyByName(parsed.value, attempt, device, deps);
  const mayNameUser = username === undefined && otp !== undefined && deps.rules.identifyByOtp;
  const identified = mayNameUser ? await identifyByOtp(otp, attempt, deps) : undefined;
  if (identified !== undefined) return identified;
  const named = Buffer.from(deps.random(8)).toString("hex");
  await Promise.all([deps.users.findNone(named), deps.users.findNone(named)]);
  return { named };
}

async function identifyByName(
  { name, folded }: Username,
  attempt: Attempt,
  device: Device | undefined,
  deps: AuthDeps,
): Promise<Identified> {
  const [throttle, own] = await Promise.all([
    readThrottle({ kind: "name", text: folded }, deps),
    device && readDevice(device, deps),
  ]);
  // A locked throttle of a device does not count: a browser cannot omit the cookie of its device, and an administrator
  // unlocks a person by the username alone.
  const isOnDevice = own !== undefined && foldUsername(own.user.name) === folded && !isLocked(own.throttle, deps);
  attempt.throttle = isOnDevice ? own.throttle : throttle;
  if (isOnDevice) attempt.nameThrottle = throttle;
  const { ownerId } = throttle;
  return { named: folded, ...(ownerId !== undefined && { user: { id: ownerId, name } }) };
}

/** Reads the user of a device token with the throttle of the device; undefined if the token has ended. */
async function readDevice(device: Device, deps: AuthDeps) {
  const { userId, epoch, number } = device;
  const [user, throttle] = await Promise.all([
    deps.users.find({ by: "id", id: userId }),
    readThrottle({ kind: "device", text: `${userId}/${epoch}/${number}` }, deps),
  ]);
  return user !== undefined && isDeviceOf(device, user.value) ? { user: user.value, throttle } : undefined;
}

const isLocked = ({ value }: ThrottleState, { rules, now }: AuthDeps): boolean =>
  lockAt(value, now(), rules.throttle).lockedUntil !== undefined;

async function identifyByOtp(otp: string, attempt: Attempt, deps: AuthDeps): Promise<Identified | undefined> {
  const prefixes = possiblePrefixes(otp);
  const read = await Promise.all(prefixes.map(prefix => deps.otpkeys.findHolders(prefix)));
  const found = read.filter(holders => holders !== undefined);
  const keys = found.map(({ key }) => key);
  const own = splitOtp(otp, keys)?.key;
  const holders = found.find(({ key }) => key === own);
  const named = own?.value.prefix ?? prefixes[0];
  if (named === undefined) return undefined;
  attempt.throttle = await readThrottle({ kind: "prefix", text: named }, deps);
  return { named, keys, ...(holders && { holders }) };
}

/** What is read from storage to decide an attempt. */
export interface Evidence {
  /** Absent: there is no such user. */
  readonly user?: Stored<User> | undefined;
  readonly keys: OtpCandidates;
}

/**
 * Reads the user and the OTP keys in parallel. If the name leads to no user, reads one who cannot exist, so that timing
 * does not reveal it.
 */
export async function readEvidence(identified: Identified, otp: string | undefined, deps: AuthDeps): Promise<Evidence> {
  const { named, user, keys } = identified;
  if (keys !== undefined) return { user: await readHolder(identified, deps), keys };
  const [found, candidates] = await Promise.all([
    user === undefined ? deps.users.findNone(named) : deps.users.find({ by: "id", id: user.id }),
    otp === undefined ? [] : readCandidates(otp, deps),
  ]);
  const hasName = found !== undefined && foldUsername(found.value.name) === named;
  return { user: hasName ? found : undefined, keys: candidates };
}

/**
 * Reads the user that an OTP key identifies: the key is enabled and assigned to that user only. Without a holder reads
 * a user who cannot exist, so that timing does not reveal whether the key is assigned.
 */
async function readHolder({ named, holders }: Identified, deps: AuthDeps): Promise<Stored<User> | undefined> {
  if (holders === undefined || holders.userIds.length === 0) return deps.users.findNone(named);
  const [user, ...others] = (await readHolders(holders, deps)) ?? [];
  return holders.key.value.enabled && others.length === 0 ? user : undefined;
}

/** Maximum number of users whose assignment is read. More are not left by crashes: the OTP key is shared. */
const maxCandidates = 8;

/** Reads the users who have an OTP key, of those to whom it may be assigned. Returns undefined if these are too many. */
export async function readHolders(
  { key, userIds }: KeyHolders,
  { users }: AuthDeps,
): Promise<readonly Stored<User>[] | undefined> {
  if (userIds.length > maxCandidates) return undefined;
  const found = await Promise.all(userIds.map(id => users.find({ by: "id", id })));
  return found
    .filter(user => user !== undefined)
    .filter(({ value }) => value.otpkeys.some(({ id }) => id === key.value.id));
}
