import { createHash } from "node:crypto";
import type { Device } from "./model/device-token.ts";
import type { UserPointer } from "./store.ts";

/** Returns the SHA-256 of a folded username in base64url, 43 characters: the form of the username in row keys (A20). */
export const hashUsername = (folded: string): string => createHash("sha256").update(folded, "utf8").digest("base64url");

/**
 * Returns a pointer to the throttle of sign-ins that name the user by an OTP of this prefix (A6). It cannot be a user's,
 * because a username contains no slash (A3).
 */
export const prefixPointer = (prefix: string): UserPointer => pointerOf(`/otpkey/${prefix}`);

/** Returns a pointer to the throttle of sign-ins on a device (A23). It cannot be a user's either. */
export const devicePointer = ({ userId, epoch, number }: Device): UserPointer =>
  pointerOf(`/device/${userId}/${epoch}/${number}`);

/** Points to a user that cannot exist, for dummy reads that take the time of real ones. */
export const noUser: UserPointer = pointerOf("/nobody");

function pointerOf(text: string): UserPointer {
  return { by: "userHash", userHash: hashUsername(text), id: 0 };
}
