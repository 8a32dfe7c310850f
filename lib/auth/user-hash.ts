import { createHash } from "node:crypto";
import type { UserPointer } from "./store.ts";

/**
 * Stands for a folded name wherever a fixed length or harmless characters are needed, also where nobody has the name (decision
 * A20): base64url of its SHA-256, 43 characters.
 */
export const userHash = (folded: string): string => createHash("sha256").update(folded, "utf8").digest("base64url");

/**
 * Points to the throttle of sign-ins that name the user by an OTP of this prefix (decision A6). No user can be there: no username
 * contains a slash (decision A3).
 */
export const prefixPointer = (prefix: string): UserPointer => pointerOf(`/otpkey/${prefix}`);

/** Points to a user that can not exist, for reads that only have to take their time. */
export const noUser: UserPointer = pointerOf("/nobody");

function pointerOf(text: string): UserPointer {
  return { by: "handle", handle: userHash(text), id: 0 };
}
