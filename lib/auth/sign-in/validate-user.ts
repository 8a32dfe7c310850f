import type { AuthDeps } from "../deps.ts";
import { noSuchUser } from "../users/manage-users.ts";
import type { UserRef } from "../users/username.ts";
import { outcomeOfError } from "./attempt.ts";
import { checkOtp, readCandidates } from "./check-otp.ts";

/**
 * Reports separately whether the password and the OTP are the user's. The OTP is used up; policy and throttle do not
 * apply, and nothing is counted (A13).
 * Throws Fault `not_found` for an unknown user; `unavailable` if no validation server responds.
 */
export async function validateUser(
  userRef: UserRef,
  { password, otp }: { readonly password?: string | undefined; readonly otp?: string | undefined },
  deps: AuthDeps,
) {
  const [user, keys] = await Promise.all([
    deps.users.find(userRef),
    otp === undefined ? [] : readCandidates(otp, deps),
  ]);
  if (user === undefined) throw noSuchUser();
  const { id: userId, password: stored, otpkeys: accepted } = user.value;
  try {
    // The password first: if its check fails with an error, as on an overloaded host, the OTP is not used up.
    const hasBoth = stored !== undefined && password !== undefined;
    const validPassword = hasBoth && (await deps.hasher.verify(password, user.value));
    const result = otp === undefined ? undefined : await checkOtp(otp, keys, { accepted, isCounted: false }, deps);
    const found = { validPassword, validOtp: result?.isAccepted === true };
    deps.log.info("validation", { userId, ...found, otpOutcome: result?.outcome, prefix: result?.prefix });
    return found;
  } catch (error) {
    deps.log.info("validation", { userId, ...outcomeOfError(error) });
    throw error;
  }
}
