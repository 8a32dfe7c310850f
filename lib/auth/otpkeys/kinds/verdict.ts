import type { Instant } from "../../../platform/time.ts";
import type { KeyState } from "./contract.ts";
import { decideTemporaryCode, type TemporaryCode } from "./temporary-code.ts";

/** What an OTP check may change in the row of an OTP key. */
interface KeyChange {
  readonly state: KeyState;
  /** Number of wrong OTPs in a row. */
  readonly failures: number;
  /** Whether too many wrong OTPs stopped the key, until an administrator enables it again. */
  readonly stopped: boolean;
}

/** Why no OTP of an OTP key is accepted, even a genuine one. */
type Inactive = Extract<KeyVerdict["outcome"], "disabled" | "stopped" | "not_yet_valid" | "expired">;

/** What decides whether OTPs of an OTP key are accepted. */
interface Activity {
  readonly enabled: boolean;
  readonly stopped: boolean;
  readonly validFrom?: Instant;
  readonly validUntil?: Instant;
}

export interface KeyVerdict {
  readonly outcome:
    | "valid"
    | "out_of_step"
    | "replayed"
    | "invalid"
    | "unavailable"
    | "code_expired"
    | "code_used_up"
    | "disabled"
    | "stopped"
    | "not_yet_valid"
    | "expired";
  /** To be written by the row's ETag before the outcome is returned. Absent if nothing changes. */
  readonly next?: KeyChange;
  /** The temporary code after its use, to be written too. Absent if it does not change. */
  readonly temporaryCode?: TemporaryCode;
}

/**
 * Returns what a decision on a code changes in its OTP key. A genuine OTP is used up even if the sign-in fails (A5, A10).
 * Verification and failure count are one write.
 * @param countsAgainstKey whether a wrong OTP counts: the key is assigned to the named user and the password was right; never at
 * validate (A13)
 */
export function toVerdict(
  key: KeyChange & Activity,
  decision: { readonly outcome: KeyVerdict["outcome"]; readonly nextState?: KeyState },
  {
    countsAgainstKey,
    stopAfter,
    now,
  }: { readonly countsAgainstKey: boolean; readonly stopAfter: number; readonly now: Instant },
): KeyVerdict {
  const inactive = inactiveReason(key, now);
  const isActive = inactive === undefined;
  const outcome = inactive ?? decision.outcome;
  const failures = isActive && countsAgainstKey ? failuresAfter(key.failures, outcome) : key.failures;
  if (decision.nextState === undefined && failures === key.failures) return { outcome };
  const stopped = key.stopped || (isActive && countsAgainstKey && failures >= stopAfter);
  return { outcome, next: { state: decision.nextState ?? key.state, failures, stopped } };
}

/** Returns the verdict on a temporary code, which is for a disabled key and changes no counter of OTPs. */
export function toTemporaryVerdict(
  key: KeyChange & Activity & { readonly temporaryCode?: TemporaryCode },
  code: string,
  {
    countsAgainstKey,
    stopAfter,
    now,
  }: { readonly countsAgainstKey: boolean; readonly stopAfter: number; readonly now: Instant },
): KeyVerdict {
  const inactive = inactiveReason({ ...key, enabled: key.enabled || key.temporaryCode !== undefined }, now);
  if (inactive !== undefined) return { outcome: inactive };
  const decision = key.temporaryCode === undefined ? undefined : decideTemporaryCode(key.temporaryCode, code, now);
  const { outcome = "invalid", next: temporaryCode } = decision ?? {};
  const failures =
    countsAgainstKey && (outcome === "valid" || outcome === "invalid")
      ? failuresAfter(key.failures, outcome)
      : key.failures;
  if (temporaryCode === undefined && failures === key.failures) return { outcome };
  const next = { state: key.state, failures, stopped: countsAgainstKey && failures >= stopAfter };
  return { outcome, next, ...(temporaryCode && { temporaryCode }) };
}

function inactiveReason({ enabled, stopped, validFrom, validUntil }: Activity, now: Instant): Inactive | undefined {
  if (!enabled) return "disabled";
  if (stopped) return "stopped";
  if (validFrom !== undefined && now < validFrom) return "not_yet_valid";
  return validUntil !== undefined && now >= validUntil ? "expired" : undefined;
}

function failuresAfter(failures: number, outcome: KeyVerdict["outcome"]): number {
  if (outcome === "unavailable") return failures;
  return outcome === "valid" ? 0 : failures + 1;
}
