import type { AuthDeps } from "../deps.ts";
import type { Stored, User } from "../store.ts";
import { audit, type Credentials } from "./audit.ts";
import type { Checked, Evidence } from "./check-factors.ts";
import type { CountedAddress } from "./count-address.ts";
import { decideSignIn, type SignInRefusal } from "./policy.ts";
import { type Attempt, concludeAttempt, padTiming } from "./throttle-attempt.ts";

/** The user who signed in, and the prefix of the OTP key whose OTP was used. */
export interface SignedIn {
  readonly user: Stored<User>;
  readonly prefix?: string;
}

/** The result of a sign-in. The reason is for the audit log only: callers learn "granted" or "not granted" (A2). */
export type SignInResult =
  | ({ readonly granted: true } & SignedIn)
  | { readonly granted: false; readonly reason: SignInRefusal | "unknown_user" };

/** Called for a granted sign-in before its response, for example to create the session. */
export type OnGranted = (granted: SignedIn) => Promise<void>;

interface Concluding {
  readonly given: Credentials;
  readonly attempt: Attempt;
  readonly evidence: Evidence;
  readonly counted: CountedAddress | undefined;
  readonly device: boolean;
  readonly onGranted: OnGranted;
}

/**
 * Decides about a sign-in, releases the slot of its throttle, calls `onGranted` if it is granted, and writes the audit
 * event. Then replaces an outdated password hash.
 */
export async function concludeSignIn(
  checked: Checked,
  { given, attempt, evidence: { user }, counted, device, onGranted }: Concluding,
  deps: AuthDeps,
): Promise<SignInResult> {
  const result = decide(checked, user, deps);
  const { otp } = checked;
  // A wrong OTP that counts against its key is one write. Otherwise does a dummy write, so that timing does not reveal whether
  // the OTP counted.
  if (!result.granted && otp?.written === false) await padTiming(attempt, deps);
  await (result.granted
    ? Promise.all([
        concludeAttempt(attempt, "succeeded", deps),
        deps.users.recordLogin(result.user.value.id, deps.now()),
        onGranted(result),
        counted?.uncount(),
      ])
    : concludeAttempt(attempt, "failed", deps));
  await audit(deps, given, {
    outcome: result.granted ? "granted" : "refused",
    user: user?.value,
    ...(!result.granted && { reason: result.reason }),
    otpOutcome: otp?.outcome,
    temporaryCode: otp?.isTemporary,
    prefix: otp?.key?.prefix,
    device: device || undefined,
  });
  if (result.granted && given.password !== undefined) await renewHash(result.user, given.password, deps);
  return result;
}

function decide({ facts, otp }: Checked, user: Stored<User> | undefined, { rules }: AuthDeps): SignInResult {
  if (user === undefined) return { granted: false, reason: "unknown_user" };
  const decision = decideSignIn(rules, facts);
  if (!decision.granted) return decision;
  const prefix = facts.otp === "valid" ? otp?.key?.prefix : undefined;
  return { granted: true, user, ...(prefix !== undefined && { prefix }) };
}

/**
 * Replaces an outdated password hash. Writes by the version of the row that was checked, so that a reset in between wins
 * (A4). A failure is only logged: the sign-in is granted, and the next one tries again.
 */
async function renewHash(user: Stored<User>, password: string, { hasher, users, log }: AuthDeps): Promise<void> {
  const { password: stored, id } = user.value;
  try {
    if (stored === undefined || !(await hasher.isOutdated(stored))) return;
    await users.save(user, { password: await hasher.hash(password, id) });
  } catch (error) {
    log.warn("password_not_rehashed", { userId: id, error });
  }
}
