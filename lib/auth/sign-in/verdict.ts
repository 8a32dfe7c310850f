import type { Instant } from "../../platform/time.ts";
import type { KeyState } from "../otpkeys/kinds/contract.ts";
import type { TemporaryCode } from "../otpkeys/kinds/temporary-code.ts";
import type { OtpKey } from "../store.ts";

/** Why no OTP of an OTP key is accepted, even a genuine one. */
type InactiveReason = "disabled" | "stopped" | "not_yet_valid" | "expired";

/** The decision on a code, before it is known whether the OTP key accepts any. */
export interface CodeDecision {
  readonly outcome: "valid" | "out_of_step" | "replayed" | "invalid" | "unavailable" | "code_expired" | "code_used_up";
  /** Of an OTP; a temporary code leaves the state unchanged. */
  readonly nextState?: KeyState;
  /** The temporary code after its use, if it was one. */
  readonly temporaryCode?: TemporaryCode;
}

export interface KeyVerdict {
  readonly outcome: CodeDecision["outcome"] | InactiveReason;
  /** The OTP key to write by its version before the outcome is returned. Absent if nothing changes. */
  readonly next?: OtpKey;
}

interface VerdictRules {
  /**
   * Whether a wrong OTP counts: the password was right, and the key is assigned to the named user or, at a
   * self-assignment, to no other user; never at validate (A13).
   */
  readonly isCounted: boolean;
  /** Number of wrong OTPs in a row that stop the key, until an administrator enables it again. */
  readonly stopAfter: number;
  /** Whether the code was a temporary one. It is checked while its key is disabled, if one was issued for the key. */
  readonly isTemporary: boolean;
  readonly now: Instant;
}

/**
 * Returns what a decision on a code changes in its OTP key. A genuine OTP is used up even if the sign-in fails (A5,
 * A10). Verification and failure count are one write. A wrong temporary code counts like a wrong OTP.
 */
export function toVerdict(
  key: OtpKey,
  decision: CodeDecision,
  { isCounted, stopAfter, isTemporary, now }: VerdictRules,
): KeyVerdict {
  const isOpen = isTemporary && key.temporaryCode !== undefined;
  const inactive = inactiveReason(isOpen ? { ...key, enabled: true } : key, now);
  const counts = inactive === undefined && isCounted;
  const outcome = inactive ?? decision.outcome;
  const failures = counts ? failuresAfter(key.failures, outcome) : key.failures;
  const temporaryCode = inactive === undefined ? decision.temporaryCode : undefined;
  const { nextState } = decision;
  if (nextState === undefined && temporaryCode === undefined && failures === key.failures) return { outcome };
  const next = {
    ...key,
    failures,
    ...(counts && failures >= stopAfter && { stopped: true, stoppedAt: now }),
    ...(nextState && { parameters: { ...key.parameters, state: nextState } }),
    ...(outcome === "valid" && !isTemporary && { lastUsed: now }),
    ...(temporaryCode && { temporaryCode }),
  };
  return { outcome, next };
}

function inactiveReason({ enabled, stopped, validFrom, validUntil }: OtpKey, now: Instant): InactiveReason | undefined {
  if (!enabled) return "disabled";
  if (stopped) return "stopped";
  if (validFrom !== undefined && now < validFrom) return "not_yet_valid";
  return validUntil !== undefined && now >= validUntil ? "expired" : undefined;
}

/** Outcomes that leave the failure count unchanged. */
const uncounted: readonly KeyVerdict["outcome"][] = ["unavailable", "code_expired", "code_used_up"];

function failuresAfter(failures: number, outcome: KeyVerdict["outcome"]): number {
  if (uncounted.includes(outcome)) return failures;
  return outcome === "valid" ? 0 : failures + 1;
}
