import { chunksOf } from "../../platform/collections.ts";
import type { Stored } from "../../platform/stored.ts";
import type { AuthDeps } from "../deps.ts";
import { possiblePrefixes, splitOtp } from "../otpkeys/kinds/split-otp.ts";
import { type Device, isDeviceOf } from "../sessions/device-token.ts";
import type { KeyHolders, ThrottleState, User, UserSummary } from "../store.ts";
import { foldUsername, parseUsername, type Username } from "../users/username.ts";
import { type Attempt, newAttempt, readThrottle } from "./attempt.ts";
import { type OtpCandidates, readCandidates } from "./check-otp.ts";
import { lockAt } from "./throttle.ts";

/** The credentials that a caller presents. An empty text counts as absent. */
export interface Credentials {
  readonly username?: string | undefined;
  readonly password?: string | undefined;
  /** The code of a reset, in place of the password. */
  readonly passwordCode?: string | undefined;
  readonly otp?: string | undefined;
}

/** The user whom credentials name, and the attempt in the throttle that counts it. */
export interface Identified {
  readonly attempt: Attempt;
  /** The folded username, or the prefix of the OTP. */
  readonly named: string;
  /** The user to whom the username leads; the row of the user decides whether the user has the name. */
  readonly user?: UserSummary;
  /** True if the attempt counts against a device instead of the username (A23). */
  readonly isOnDevice: boolean;
  /** The throttle of the username; present if the attempt counts against a device. */
  readonly nameThrottle?: ThrottleState;
  /** Present if the OTP identifies the user. */
  readonly byOtp?: OtpHolders;
}

interface OtpHolders {
  /** Every OTP key that the OTP may belong to. */
  readonly found: readonly KeyHolders[];
  /** The OTP key whose kind matches the OTP. */
  readonly key?: KeyHolders;
}

/**
 * Identifies the user by username, or by the OTP's prefix if the deployment allows that (A6). Returns undefined if the
 * credentials cannot name a user.
 */
export async function identify(
  { username, otp }: Credentials,
  device: Device | undefined,
  deps: AuthDeps,
): Promise<Identified | undefined> {
  if (username !== undefined) {
    const parsed = parseUsername(username);
    return parsed.ok ? identifyByName(parsed.value, device, deps) : undefined;
  }
  return otp !== undefined && deps.rules.identifyByOtp ? identifyByOtp(otp, deps) : undefined;
}

async function identifyByName(
  { name, folded }: Username,
  device: Device | undefined,
  deps: AuthDeps,
): Promise<Identified> {
  const [throttle, own] = await Promise.all([
    readThrottle({ kind: "name", text: folded }, deps),
    device && readDevice(device, deps),
  ]);
  const { ownerId } = throttle;
  // A locked throttle of a device does not count: a browser cannot omit the cookie of its device, and an administrator
  // unlocks a person by the username alone.
  const isOnDevice = own !== undefined && foldUsername(own.user.name) === folded && !isLocked(own.throttle, deps);
  return {
    attempt: newAttempt(isOnDevice ? own.throttle : throttle, deps),
    named: folded,
    ...(ownerId !== undefined && { user: { id: ownerId, name } }),
    isOnDevice,
    ...(isOnDevice && { nameThrottle: throttle }),
  };
}

/** Reads the user of a device token with the throttle of the device; undefined if the token has ended. */
async function readDevice(
  device: Device,
  deps: AuthDeps,
): Promise<{ readonly user: User; readonly throttle: ThrottleState } | undefined> {
  const { userId, epoch, number } = device;
  const [user, throttle] = await Promise.all([
    deps.users.find({ by: "id", id: userId }),
    readThrottle({ kind: "device", text: `${userId}/${epoch}/${number}` }, deps),
  ]);
  return user !== undefined && isDeviceOf(device, user.value) ? { user: user.value, throttle } : undefined;
}

const isLocked = ({ value }: ThrottleState, { rules, now }: AuthDeps): boolean =>
  lockAt(value, now(), rules.throttle).lockedUntil !== undefined;

async function identifyByOtp(otp: string, deps: AuthDeps): Promise<Identified | undefined> {
  const prefixes = possiblePrefixes(otp);
  const found = (await Promise.all(prefixes.map(prefix => deps.otpkeys.findHolders(prefix)))).filter(
    holders => holders !== undefined,
  );
  const own = splitOtp(
    otp,
    found.map(({ key }) => key),
  )?.key;
  const key = found.find(holders => holders.key === own);
  const prefix = own?.value.prefix ?? prefixes[0];
  if (prefix === undefined) return undefined;
  return {
    attempt: newAttempt(await readThrottle({ kind: "prefix", text: prefix }, deps), deps),
    named: prefix,
    isOnDevice: false,
    byOtp: { found, ...(key && { key }) },
  };
}

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

/** Returns the user that an OTP key identifies: the key is enabled and assigned to that user only. */
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
  return key?.value.enabled === true && found.length === 1 ? found[0] : undefined;
}
