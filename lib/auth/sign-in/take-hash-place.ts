import type { AuthDeps } from "../deps.ts";
import { possiblePrefixes } from "../otpkeys/kinds/split-otp.ts";
import type { HashPlace } from "../passwords/hash-places.ts";
import type { Device } from "../sessions/device-token.ts";
import { parseUsername } from "../users/username.ts";
import { addressGroup } from "./address-limit.ts";
import type { Credentials } from "./audit.ts";

/** What is known about a caller before the first storage call. */
interface Presented {
  readonly address?: string | undefined;
  readonly device?: Device | undefined;
  /** Id of the user whose session the caller has. */
  readonly sessionOf?: number | undefined;
}

/**
 * Takes a place in the queue of password hashes before any storage call, also for an attempt without a password, whose storage calls are
 * the same. Depends on the credentials as they were sent and not on whether a user exists. Throws `OverloadFault`.
 */
export function takeHashPlace(
  given: Credentials,
  { address, device, sessionOf }: Presented,
  { hasher, rules }: Pick<AuthDeps, "hasher" | "rules">,
): HashPlace {
  // No username contains a slash, so these names are no user's.
  if (sessionOf !== undefined) return hasher.takePlace({ isKnown: true, name: `session/${sessionOf}` });
  if (device !== undefined)
    return hasher.takePlace({ isKnown: true, name: `device/${device.userId}/${device.number}` });
  const group = address === undefined || rules.address.isExempt(address) ? undefined : addressGroup(address);
  return hasher.takePlace({ isKnown: false, name: nameOf(given), address: group });
}

/** Returns what an attempt is for. All attempts that can name no user have one name together. */
function nameOf({ username, otp }: Credentials): string {
  const parsed = username === undefined ? undefined : parseUsername(username);
  if (parsed !== undefined) return parsed.ok ? parsed.value.folded : "no/user";
  return `prefix/${otp === undefined ? "" : (possiblePrefixes(otp)[0] ?? "")}`;
}
