import type { AuthDeps } from "../deps.ts";
import type { AssignedKey, User, UserRef } from "../store.ts";
import { noSuchUser } from "../users/manage-users.ts";
import { outcomeOf } from "./audit.ts";
import { checkOtp, type OtpCandidates, readCandidates } from "./check-otp.ts";

interface Given {
  readonly password?: string | undefined;
  readonly otp?: string | undefined;
}

interface Validation {
  readonly validPassword: boolean;
  readonly validOtp: boolean;
}

/**
 * Reports separately whether the password and the OTP are the user's. The OTP is used up; policy and throttle do not apply,
 * and nothing is counted (A13).
 * Throws Fault `not_found` for an unknown user; `unavailable` if no validation server responds.
 */
export async function validateFactors(userRef: UserRef, given: Given, deps: AuthDeps): Promise<Validation> {
  const { otp } = given;
  const [state, candidates] = await Promise.all([
    deps.users.signInState(userRef),
    otp ? readCandidates(otp, deps) : [],
  ]);
  if (state?.user === undefined) throw noSuchUser();
  const { user, otpkeys: assigned } = state;
  const userId = user.value.id;
  try {
    const { result, ...found } = await check(given, { user: user.value, assigned, candidates }, deps);
    deps.log.info("validation", { userId, ...found, otpOutcome: result?.outcome, prefix: result?.key?.prefix });
    return found;
  } catch (error) {
    deps.log.info("validation", { userId, ...outcomeOf(error) });
    throw error;
  }
}

interface Known {
  readonly user: User;
  readonly assigned: readonly AssignedKey[];
  readonly candidates: OtpCandidates;
}

async function check({ password, otp }: Given, { user, assigned, candidates }: Known, deps: AuthDeps) {
  // The password first: if its check fails with an error, as on an overloaded host, the OTP is not used up.
  const validPassword =
    user.password !== undefined && password ? await deps.hasher.verify(password, user.password) : false;
  const result = otp ? await checkOtp(otp, candidates, { assigned, counts: () => false }, deps) : undefined;
  const validOtp = result?.outcome === "valid" && assigned.some(({ id }) => id === result.key?.id);
  return { validPassword, validOtp, result };
}
