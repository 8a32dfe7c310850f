import type { AuthDeps } from "../deps.ts";
import type { User } from "../store.ts";
import { noSuchUser } from "../users/manage-users.ts";
import type { UserRef } from "../users/username.ts";
import { checkOtp, type OtpCandidates, readCandidates } from "./check-otp.ts";
import { outcomeOfError } from "./conclude.ts";

interface Given {
  readonly password?: string | undefined;
  readonly otp?: string | undefined;
}

interface Validation {
  readonly validPassword: boolean;
  readonly validOtp: boolean;
}

/**
 * Reports separately whether the password and the OTP are the user's. The OTP is used up; policy and throttle do not
 * apply, and nothing is counted (A13).
 * Throws Fault `not_found` for an unknown user; `unavailable` if no validation server responds.
 */
export async function validateFactors(userRef: UserRef, given: Given, deps: AuthDeps): Promise<Validation> {
  const { otp } = given;
  const [user, candidates] = await Promise.all([deps.users.find(userRef), otp ? readCandidates(otp, deps) : []]);
  if (user === undefined) throw noSuchUser();
  const userId = user.value.id;
  try {
    const { result, ...found } = await check(given, user.value, candidates, deps);
    deps.log.info("validation", { userId, ...found, otpOutcome: result?.outcome, prefix: result?.key?.prefix });
    return found;
  } catch (error) {
    deps.log.info("validation", { userId, ...outcomeOfError(error) });
    throw error;
  }
}

async function check({ password, otp }: Given, user: User, candidates: OtpCandidates, deps: AuthDeps) {
  // The password first: if its check fails with an error, as on an overloaded host, the OTP is not used up.
  const validPassword = user.password !== undefined && password ? await deps.hasher.verify(password, user) : false;
  const result = otp ? await checkOtp(otp, candidates, { accepted: user.otpkeys, isCounted: false }, deps) : undefined;
  return { validPassword, validOtp: result?.isAccepted === true, result };
}
