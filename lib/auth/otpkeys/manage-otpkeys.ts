import { Fault, invalidRequest, type Problem } from "../../platform/fault.ts";
import { conflict, retryOnConflict } from "../../platform/stored.ts";
import type { AuthDeps } from "../deps.ts";
import { maxAssignedKeys, type NewOtpKey } from "../store.ts";
import { noSuchUser } from "../users/manage-users.ts";
import type { UserRef } from "../users/username.ts";
import type { KeyParameters } from "./kinds/contract.ts";
import type { OtpKindName } from "./kinds/kinds.ts";
import { looksLikeOtp, possiblePrefixes } from "./kinds/split-otp.ts";

export const noSuchKey = (): Fault => new Fault("not_found", "There is no such otpkey.");

/**
 * Returns the Fault of a change that the role of the caller does not allow.
 * @param change the beginning of a sentence, such as "To change the digits"
 */
export const adminRequired = (change: string): Fault =>
  new Fault("forbidden", `${change}, the API token needs the role admin.`, { reason: "no_role" });

/** Returns the Fault of an assignment of an OTP key that another user has. */
const assignedToOther = (): Fault =>
  new Fault(
    "forbidden",
    "Another user has the otpkey. To assign it to several users, the API token needs the role admin.",
    { reason: "no_role" },
  );

/** Returns the fault of an assignment. Names no field, because callers name the OTP key by different ones. */
export const tooManyKeys = (): Fault =>
  new Fault("invalid", `The user has ${maxAssignedKeys} otpkeys already, the most that a user can have.`);

/** Returns a new OTP key: enabled, without failures. */
export const newKey = (prefix: string, parameters: KeyParameters, kind: OtpKindName | undefined): NewOtpKey => ({
  prefix,
  ...(kind !== undefined && { kind }),
  enabled: true,
  failures: 0,
  stopped: false,
  parameters,
});

export const unusedParameters: KeyParameters = { state: { counter: 0 } };

const assignFaults = { no_user: noSuchUser, taken: assignedToOther, too_many: tooManyKeys };

/**
 * Assigns an OTP key to a user. Returns false if there is no such key. Throws Fault `not_found` for an unknown user,
 * `invalid` for one who has too many keys, `forbidden` with `onlyIfFree` for a key that another user has.
 */
export async function assignExistingKey(
  userRef: UserRef,
  prefix: string,
  deps: AuthDeps,
  options: { readonly onlyIfFree?: boolean } = {},
): Promise<boolean> {
  const outcome = await deps.otpkeys.assign(userRef, prefix, options);
  if (outcome === "no_key") return false;
  if (outcome !== "assigned") throw assignFaults[outcome]();
  deps.log.info("otpkey_assigned", { prefix, user: userRef });
  return true;
}

/**
 * Assigns an OTP key to a user. Creates one of an unknown prefix, of kind `remote` if validation servers are configured
 * (A9), but none that is named like an OTP or as an OTP of another key: that would be a second factor which its user
 * does not have. Throws Fault `invalid` for such a text, and as `assignExistingKey`.
 */
export async function assignKey(userRef: UserRef, prefix: string, deps: AuthDeps): Promise<void> {
  await retryOnConflict(async () => {
    if (await assignExistingKey(userRef, prefix, deps)) return;
    if (looksLikeOtp(prefix) || (await mayBeOtpOfKey(prefix, deps))) throw invalidRequest([prefixExpected]);
    const kind = deps.rules.usesValidationServers ? "remote" : undefined;
    const created = await deps.otpkeys.create(newKey(prefix, unusedParameters, kind));
    if (created?.isNew) deps.log.info("otpkey_created", { prefix, kind });
    return conflict;
  });
}

/** Returns whether an OTP key has one of the prefixes that the text would have as an OTP. */
async function mayBeOtpOfKey(text: string, { otpkeys }: AuthDeps): Promise<boolean> {
  const found = await Promise.all(possiblePrefixes(text).map(prefix => otpkeys.find(prefix)));
  return found.some(key => key !== undefined);
}

const prefixExpected: Problem = {
  path: "otpkey",
  reason: "looks like an OTP, and no otpkey has it as prefix: send the prefix alone",
};

/** Unassigns an OTP key (specification section 4, rule 2). Throws Fault `not_found` if the user does not have it. */
export async function unassignKey(userRef: UserRef, prefix: string, deps: AuthDeps): Promise<void> {
  if (!(await deps.otpkeys.unassign(userRef, prefix))) throw noSuchKey();
  deps.log.info("otpkey_unassigned", { prefix, user: userRef });
}

/** Deletes an OTP key, its data and every assignment (specification section 4, rule 3). Throws Fault `not_found`. */
export async function deleteKey(prefix: string, deps: AuthDeps): Promise<void> {
  if (!(await deps.otpkeys.remove(prefix))) throw noSuchKey();
  deps.log.info("otpkey_deleted", { prefix });
}
