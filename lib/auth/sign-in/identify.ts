import { chunksOf } from "../../platform/chunks.ts";
import type { AuthDeps } from "../deps.ts";
import { possiblePrefixes, splitOtp } from "../otpkeys/kinds/split-otp.ts";
import type { Device } from "../sessions/device-token.ts";
import { isDeviceOf } from "../sessions/remember-device.ts";
import type { KeyHolders, Stored, ThrottleKey, ThrottleState, User } from "../store.ts";
import { foldUsername, parseUsername } from "../users/username.ts";
import type { Credentials } from "./audit.ts";
import { identifyByKey } from "./policy.ts";
import { lockAt } from "./throttle.ts";
import { type Attempt, newAttempt } from "./throttle-attempt.ts";

/** The user whom credentials name, and the attempt in the throttle that counts it. */
export interface Identified {
  readonly attempt: Attempt;
  /** True if the attempt counts against a device instead of the username (A23). */
  readonly isOnDevice: boolean;
  /** Present if the OTP identifies the user. */
  readonly byOtp?: OtpHolders;
  /** Reads the user; undefined if there is none. Makes the same calls for every username. */
  readUser(): Promise<Stored<User> | undefined>;
  /** A text for reads of what cannot exist, which take the time of real ones. */
  readonly named: string;
}

export interface OtpHolders {
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
    return parsed.ok ? identifyByName(parsed.value.folded, device, deps) : undefined;
  }
  return otp !== undefined && deps.rules.identifyByOtp ? identifyByOtp(otp, deps) : undefined;
}

async function identifyByName(folded: string, device: Device | undefined, deps: AuthDeps): Promise<Identified> {
  const { users, throttles, random } = deps;
  const key: ThrottleKey = { kind: "name", text: folded };
  const read = () => throttles.find(key, () => users.idOf(folded));
  const [throttle, own] = await Promise.all([read(), device && readDevice(device, deps)]);
  const { ownerId } = throttle;
  const named = {
    named: folded,
    readUser: async () => {
      // Without an id reads a user who cannot exist, so that timing does not reveal whether the name leads to one.
      const found = await (ownerId === undefined ? users.findNobody(folded) : users.find({ by: "id", id: ownerId }));
      return found !== undefined && foldUsername(found.value.name) === folded ? found : undefined;
    },
  };
  const isOnDevice = own !== undefined && foldUsername(own.user.name) === folded && !isLocked(own.throttle, deps);
  if (!isOnDevice) return { attempt: newAttempt(throttle, read, deps), isOnDevice, ...named };
  return {
    attempt: newAttempt(own.throttle, () => throttles.find(own.throttle.key), { random }),
    isOnDevice,
    ...named,
  };
}

/** Reads the user of a device token with the throttle of the device; undefined if the token has ended. */
async function readDevice(
  device: Device,
  { users, throttles }: AuthDeps,
): Promise<{ readonly user: User; readonly throttle: ThrottleState } | undefined> {
  const { userId, epoch, number } = device;
  const [user, throttle] = await Promise.all([
    users.find({ by: "id", id: userId }),
    throttles.find({ kind: "device", text: `${userId}/${epoch}/${number}` }),
  ]);
  return user !== undefined && isDeviceOf(device, user.value) ? { user: user.value, throttle } : undefined;
}

/**
 * Returns whether the throttle of a device is locked. The throttle of the username counts the attempt then: a browser cannot omit the
 * cookie of its device, and an administrator unlocks a person by the username alone.
 */
const isLocked = ({ value }: ThrottleState, { rules, now }: AuthDeps): boolean =>
  lockAt(value, now(), rules.throttle).lockedUntil !== undefined;

async function identifyByOtp(otp: string, deps: AuthDeps): Promise<Identified | undefined> {
  const { otpkeys, throttles } = deps;
  const prefixes = possiblePrefixes(otp);
  const found = (await Promise.all(prefixes.map(prefix => otpkeys.findHolders(prefix)))).filter(
    holders => holders !== undefined,
  );
  const shaped = found.map(holders => {
    const { prefix, kind, form } = holders.key.value;
    return { prefix, kind, digits: form.digits, holders };
  });
  const key = splitOtp(otp, prefix => shaped.find(shape => shape.prefix === prefix))?.key.holders;
  const prefix = key?.key.value.prefix ?? prefixes[0];
  if (prefix === undefined) return undefined;
  const read = () => throttles.find(prefixThrottle(prefix));
  return {
    attempt: newAttempt(await read(), read, deps),
    isOnDevice: false,
    byOtp: { found, ...(key && { key }) },
    named: prefix,
    readUser: () => findHolder(key, prefix, deps),
  };
}

/** Returns the throttle of sign-ins that name the user by an OTP of this prefix (A6). */
const prefixThrottle = (prefix: string): ThrottleKey => ({ kind: "prefix", text: prefix });

/** Number of users that are read in parallel. */
const batchSize = 8;

/** Returns the user whom an OTP key identifies: it is enabled and assigned to that user only. */
async function findHolder(
  holders: KeyHolders | undefined,
  named: string,
  { users }: AuthDeps,
): Promise<Stored<User> | undefined> {
  const { key, candidates = [] } = holders ?? {};
  const found: Stored<User>[] = [];
  // Two holders are enough to know that the key identifies no user.
  for (const some of chunksOf(candidates, batchSize)) {
    if (found.length >= 2) break;
    const read = await Promise.all(some.map(id => users.find({ by: "id", id })));
    const isHolding = (user: Stored<User>) => user.value.otpkeys.some(({ id }) => id === key?.value.id);
    found.push(...read.filter(user => user !== undefined).filter(isHolding));
  }
  // Without a candidate does a dummy read, so that timing does not reveal whether the key is assigned.
  if (candidates.length === 0) await users.findNobody(named);
  const ids = found.map(({ value }) => value.id);
  const id = identifyByKey({ enabled: key?.value.enabled === true, users: ids });
  return found.find(({ value }) => id !== undefined && value.id === id);
}
