import { Fault, invalidRequest } from "../../platform/fault.ts";
import { conflict, retryOnConflict } from "../../platform/stored.ts";
import { between, days, type Instant } from "../../platform/time.ts";
import type { AuthDeps } from "../deps.ts";
import { createTypedCode } from "../passwords/typed-code.ts";
import { hashTemporaryCode, withoutHash } from "./kinds/temporary-code.ts";
import { noSuchKey } from "./manage-otpkeys.ts";
import type { Validity } from "./validity.ts";

const maxValidMs = days(31);

/**
 * Disables a lost OTP key and issues a code that its user types in place of an OTP. Replaces an earlier code. Only the
 * hash is stored, so the code cannot be shown again. Throws Fault `not_found`, `invalid` for a time that is past, too
 * far away, or outside the validity of the key: the code is accepted only within it.
 * @returns the text to type: the prefix and the code
 */
export async function issueTemporaryCode(
  prefix: string,
  { uses, validUntil }: { readonly uses: number; readonly validUntil: Instant },
  deps: AuthDeps,
): Promise<string> {
  const validMs = between(deps.now(), validUntil);
  if (validMs <= 0 || validMs > maxValidMs) throw invalidTime("must be in the future, at most 31 days away");
  const code = createTypedCode(deps.random);
  const temporaryCode = { hash: hashTemporaryCode(code), usesLeft: uses, validUntil };
  await retryOnConflict(async () => {
    const key = await deps.otpkeys.find(prefix);
    if (key === undefined) throw noSuchKey();
    if (!isWithin(key.value, validUntil))
      throw invalidTime("must be within the validity of the otpkey: change that first");
    // A stop would also refuse the code. OTPs of a disabled key are refused anyway, so the count of wrong ones can
    // start again.
    const { stoppedAt: _, ...lost } = key.value;
    const next = { ...lost, enabled: false, failures: 0, stopped: false, temporaryCode };
    return (await deps.otpkeys.save(key, next)) ?? conflict;
  });
  deps.log.info("otpkey_temporary_code_issued", { prefix, uses, validUntil });
  return `${prefix}-${code}`;
}

const invalidTime = (reason: string): Fault => invalidRequest([{ path: "valid_until", reason }]);

const isWithin = ({ validFrom, validUntil }: Validity, time: Instant): boolean =>
  (validFrom === undefined || time > validFrom) && (validUntil === undefined || time <= validUntil);

/**
 * Revokes the temporary code of an OTP key. The key stays disabled, and its user still needs an OTP. Throws Fault
 * `not_found`, also if the key has no code.
 */
export async function revokeTemporaryCode(prefix: string, deps: AuthDeps): Promise<void> {
  await retryOnConflict(async () => {
    const key = await deps.otpkeys.find(prefix);
    if (key === undefined) throw noSuchKey();
    if (key.value.temporaryCode === undefined) throw new Fault("not_found", "The otpkey has no temporary code.");
    const temporaryCode = withoutHash(key.value.temporaryCode);
    return (await deps.otpkeys.save(key, { ...key.value, temporaryCode })) ?? conflict;
  });
  deps.log.info("otpkey_temporary_code_revoked", { prefix });
}
