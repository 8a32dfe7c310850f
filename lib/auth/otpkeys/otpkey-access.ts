import { Fault, invalidRequest, type Problem } from "../../platform/fault.ts";
import { conflict, retryOnConflict } from "../../platform/stored.ts";
import { between, days, type Instant } from "../../platform/time.ts";
import type { AuthDeps } from "../deps.ts";
import { createTypedCode } from "../passwords/typed-code.ts";
import type { NewOtpKey, OtpKey } from "../store.ts";
import { hashTemporaryCode, withoutHash } from "./kinds/temporary-code.ts";
import { noSuchKey } from "./manage-otpkeys.ts";

/** Changes an OTP key, by its version. Throws Fault `not_found`, and what `change` throws. */
const changeKey = (prefix: string, deps: AuthDeps, change: (key: OtpKey) => NewOtpKey): Promise<unknown> =>
  retryOnConflict(async () => {
    const key = await deps.otpkeys.find(prefix);
    if (key === undefined) throw noSuchKey();
    return (await deps.otpkeys.save(key, change(key.value))) ?? conflict;
  });

/**
 * Enables or disables an OTP key. Enabling also revokes its temporary code, and clears the stop, the failures and the
 * throttle of its prefix (A6, A12). Throws Fault `not_found`.
 */
export async function setKeyEnabled(prefix: string, enabled: boolean, deps: AuthDeps): Promise<void> {
  await changeKey(prefix, deps, key => {
    const { stoppedAt: _, temporaryCode: __, ...kept } = key;
    return enabled ? { ...kept, enabled, failures: 0, stopped: false } : { ...key, enabled };
  });
  // The OTP key is changed now: it has its audit event also if the rest fails.
  deps.log.info(enabled ? "otpkey_enabled" : "otpkey_disabled", { prefix });
  if (enabled) await deps.throttles.clear({ kind: "prefix", text: prefix });
}

/** Time within which a sign-in that passed before its OTP key was disabled has written its session. */
const signInDurationMs = 1000;

/**
 * Ends the sessions that were opened with a disabled OTP key, also those of former users. Searches a second time for
 * sessions of sign-ins that were in progress.
 */
export async function endKeySessions(prefix: string, deps: AuthDeps): Promise<void> {
  const ended = await deps.sessions.endByPrefix(prefix);
  await deps.sleep(signInDurationMs);
  const endedLater = await deps.sessions.endByPrefix(prefix);
  deps.log.info("sessions_ended", { prefix, sessions: ended + endedLater });
}

/** The time in which OTPs of an OTP key are accepted. An absent limit does not apply. */
export type Validity = Pick<OtpKey, "validFrom" | "validUntil">;

/** Returns the problem of limits between which no time is left. */
export const validityProblems = ({ validFrom, validUntil }: Validity): readonly Problem[] =>
  validFrom !== undefined && validUntil !== undefined && validUntil <= validFrom
    ? [{ path: "valid_until", reason: "must be later than valid_from" }]
    : [];

/**
 * Sets the time in which OTPs of an OTP key are accepted, and removes limits that are not given. Throws Fault
 * `not_found`.
 */
export async function setValidity(prefix: string, validity: Validity, deps: AuthDeps): Promise<void> {
  await changeKey(prefix, deps, ({ validFrom: _, validUntil: __, ...unlimited }) => ({ ...unlimited, ...validity }));
  logValiditySet({ prefix, ...validity }, deps);
}

/** Writes the audit event of a changed validity, with the limits that apply now. */
export const logValiditySet = (
  { prefix, validFrom, validUntil }: Validity & { readonly prefix: string },
  { log }: Pick<AuthDeps, "log">,
): void => log.info("otpkey_validity_set", { prefix, validFrom, validUntil });

export const hasSameValidity = (one: Validity, other: Validity): boolean =>
  one.validFrom === other.validFrom && one.validUntil === other.validUntil;

const maxValidMs = days(31);

/** Returns the problem of the end of a temporary code. */
export function codeTimeProblems(validUntil: Instant | undefined, now: Instant): readonly Problem[] {
  if (validUntil === undefined) return [];
  const validMs = between(now, validUntil);
  return validMs > 0 && validMs <= maxValidMs ? [] : [timeProblem("must be in the future, at most 31 days away")];
}

const timeProblem = (reason: string): Problem => ({ path: "valid_until", reason });

/**
 * Disables a lost OTP key and issues a code that its user types in place of an OTP. Replaces an earlier code. Only the
 * hash is stored, so the code cannot be shown again. Throws Fault `not_found`, `invalid` for a time outside the
 * validity of the key: the code is accepted only within it.
 * @returns the text to type: the prefix and the code
 */
export async function issueTemporaryCode(
  prefix: string,
  { uses, validUntil }: { readonly uses: number; readonly validUntil: Instant },
  deps: AuthDeps,
): Promise<string> {
  const code = createTypedCode(deps.random);
  const temporaryCode = { hash: hashTemporaryCode(code), usesLeft: uses, validUntil };
  // A stop would also refuse the code. OTPs of a disabled key are refused anyway, so the count of wrong ones can start
  // again.
  await changeKey(prefix, deps, ({ stoppedAt: _, ...key }) => {
    if (!isWithin(key, validUntil))
      throw invalidRequest([timeProblem("must be within the validity of the otpkey: change that first")]);
    return { ...key, enabled: false, failures: 0, stopped: false, temporaryCode };
  });
  deps.log.info("otpkey_temporary_code_issued", { prefix, uses, validUntil });
  return `${prefix}-${code}`;
}

const isWithin = ({ validFrom, validUntil }: Validity, time: Instant): boolean =>
  (validFrom === undefined || time > validFrom) && (validUntil === undefined || time <= validUntil);

/**
 * Revokes the temporary code of an OTP key. The key stays disabled, and its user still needs an OTP. Throws Fault
 * `not_found`, also if the key has no code.
 */
export async function revokeTemporaryCode(prefix: string, deps: AuthDeps): Promise<void> {
  await changeKey(prefix, deps, key => {
    if (key.temporaryCode === undefined) throw new Fault("not_found", "The otpkey has no temporary code.");
    return { ...key, temporaryCode: withoutHash(key.temporaryCode) };
  });
  deps.log.info("otpkey_temporary_code_revoked", { prefix });
}
