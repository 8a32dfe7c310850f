import type { AuthDeps } from "../deps.ts";
import type { User } from "../store.ts";
import { type Device, deviceNumbers } from "./device-token.ts";

/** Returns the device of a presented token, or undefined if there is no valid token. */
export async function presentedDevice(
  token: string | undefined,
  { deviceTokens, rules, now }: Pick<AuthDeps, "deviceTokens" | "rules" | "now">,
): Promise<Device | undefined> {
  if (token === undefined || rules.deviceMs === 0) return undefined;
  return deviceTokens.open(token, now(), rules.deviceMs);
}

/**
 * Returns whether a sign-in of this user counts against the device: it belongs to the user, and no credential has
 * changed since.
 */
export const isDeviceOf = (device: Device, user: Pick<User, "id" | "epoch"> | undefined): boolean =>
  user?.id === device.userId && user.epoch === device.epoch;

/**
 * Returns a device token for a user who has just signed in; undefined if the deployment has none. A device that
 * presents its token keeps its number, and so its throttle.
 */
export async function rememberDevice(
  user: User,
  token: string | undefined,
  deps: AuthDeps,
): Promise<string | undefined> {
  const { deviceTokens, rules, random, now, log } = deps;
  if (rules.deviceMs === 0) return undefined;
  const presented = await presentedDevice(token, deps);
  const isKnown = presented !== undefined && isDeviceOf(presented, user);
  const number = isKnown ? presented.number : (random(1)[0] ?? 0) % deviceNumbers;
  const issued = await deviceTokens.issue({ userId: user.id, epoch: user.epoch, number, issuedAt: now() });
  log.info("device_remembered", { userId: user.id });
  return issued;
}
