import { checkOtp, readCandidates } from "./check-otp.ts";
import type { AuthDeps } from "./deps.ts";
import { noSuchUser } from "./manage-users.ts";
import type { Whom } from "./ports.ts";

/**
 * Reports the two factors apart; the OTP is used up, policy and throttle do not apply, nothing is counted (decision A13).
 * Throws Fault `not_found`.
 */
export async function validate(
  whom: Whom,
  { password, otp }: { password?: string | undefined; otp?: string | undefined },
  deps: AuthDeps,
): Promise<{ readonly validPassword: boolean; readonly validOtp: boolean }> {
  const [standing, candidates] = await Promise.all([deps.users.standing(whom), otp ? readCandidates(otp, deps) : []]);
  if (standing?.user === undefined) throw noSuchUser();
  const { user, otpkeys: assigned } = standing;
  const stored = user.value.password;
  const [validPassword, result] = await Promise.all([
    stored !== undefined && password ? deps.hasher.verify(password, stored) : false,
    otp ? checkOtp(otp, candidates, { assigned, counts: () => false }, deps) : undefined,
  ]);
  const validOtp = result?.outcome === "valid" && assigned.some(({ id }) => id === result.key?.id);
  const found = { validPassword, validOtp };
  deps.log.info("validation", {
    userId: user.value.id,
    ...found,
    otpOutcome: result?.outcome,
    prefix: result?.key?.prefix,
  });
  return found;
}
