import { invalidRequest, type Problem } from "../../platform/fault.ts";
import { conflict, retryOnConflict } from "../../platform/stored.ts";
import type { Instant } from "../../platform/time.ts";
import type { AuthDeps } from "../deps.ts";
import type { NewOtpKey } from "../store.ts";
import { noSuchKey } from "./manage-otpkeys.ts";

/**
 * The time in which OTPs of an OTP key are accepted: from `validFrom` until before `validUntil`. An absent limit does
 * not apply.
 */
export interface Validity {
  readonly validFrom?: Instant;
  readonly validUntil?: Instant;
}

/** Returns the problem of limits between which no time is left. */
export const validityProblems = ({ validFrom, validUntil }: Validity): readonly Problem[] =>
  validFrom !== undefined && validUntil !== undefined && validUntil <= validFrom
    ? [{ path: "valid_until", reason: "must be later than valid_from" }]
    : [];

/**
 * Returns the OTP key with the given limits; others stay. Throws Fault `invalid` if the time would end before it
 * begins.
 */
export function changeValidity(key: NewOtpKey, validity: Validity): NewOtpKey {
  const next = { ...key, ...validity };
  const problems = validityProblems(next);
  if (problems.length > 0) throw invalidRequest(problems);
  return next;
}

/**
 * Sets the time in which OTPs of an OTP key are accepted, and removes limits that are not given. Throws Fault
 * `not_found`, `invalid`.
 */
export async function setValidity(prefix: string, validity: Validity, deps: AuthDeps): Promise<void> {
  await retryOnConflict(async () => {
    const stored = await deps.otpkeys.find(prefix);
    if (stored === undefined) throw noSuchKey();
    const { validFrom: _from, validUntil: _until, ...unlimited } = stored.value;
    return (await deps.otpkeys.save(stored, changeValidity(unlimited, validity))) ?? conflict;
  });
  logValiditySet({ prefix, ...validity }, deps);
}

/** Writes the audit event of a changed validity, with the limits that apply now. */
export const logValiditySet = (
  { prefix, validFrom, validUntil }: Validity & { readonly prefix: string },
  { log }: Pick<AuthDeps, "log">,
): void => log.info("otpkey_validity_set", { prefix, validFrom, validUntil });

export const hasSameValidity = (one: Validity, other: Validity): boolean =>
  one.validFrom === other.validFrom && one.validUntil === other.validUntil;
