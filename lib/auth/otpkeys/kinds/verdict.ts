import type { Instant } from "../../../platform/time.ts";
import type { KeyState } from "./contract.ts";
import { decideTemporaryCode, type TemporaryCode } from "./temporary-code.ts";

/** What an OTP check may change in the row of an OTP key. */
interface KeyChange {
  readonly state: KeyState;
  /** Number of wrong OTPs in a row, replayed and out-of-step ones included. */
  readonly failures: number;
  /** Whether too many wrong OTPs stopped the key, until an administrator enables it again. */
  readonly stopped: boolean;
}

/** Why no OTP of an OTP key is accepted, even a genuine one. */
type InactiveReason = Extract<KeyVerdict["outcome"], "disabled" | "stopped" | "not_yet_valid" | "expired">;

/** What decides whether OTPs of an OTP key are accepted. */
interface KeyValidity {
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
  /**
   * The caller writes it with the row's ETag as condition before it returns the outcome. Absent if nothing changes.
   */
  readonly next?: KeyChange;
  /** The temporary code after its use, to be written too. Absent if it does not change. */
  readonly temporaryCode?: TemporaryCode;
}

/** The decision on a code, before it is known whether the OTP key accepts any. */
interface CodeDecision {
  readonly outcome: KeyVerdict["outcome"];
  readonly nextState?: KeyState;
  readonly temporaryCode?: TemporaryCode;
}

interface VerdictRules {
  /**
   * Whether a wrong OTP counts: the key is assigned to the named user and the password was right; never at validate
   * (A13).
   */
  readonly countsAgainstKey: boolean;
  /** Number of wrong OTPs in a row that stop the key. */
  readonly stopAfter: number;
  readonly now: Instant;
}

/**
 * Returns what a decision on a code changes in its OTP key. A genuine OTP is used up even if the sign-in fails (A5,
 * A10). Verification and failure count are one write.
 */
export function toVerdict(
  key: KeyChange & KeyValidity,
  decision: CodeDecision,
  { countsAgainstKey, stopAfter, now }: VerdictRules,
): KeyVerdict {
  const inactive = inactiveReason(key, now);
  const isCounted = inactive === undefined && countsAgainstKey;
  const outcome = inactive ?? decision.outcome;
  const failures = isCounted ? failuresAfter(key.failures, outcome) : key.failures;
  const temporaryCode = inactive === undefined ? decision.temporaryCode : undefined;
  if (decision.nextState === undefined && temporaryCode === undefined && failures === key.failures) return { outcome };
  const stopped = key.stopped || (isCounted && failures >= stopAfter);
  const next = { state: decision.nextState ?? key.state, failures, stopped };
  return { outcome, next, ...(temporaryCode && { temporaryCode }) };
}

/**
 * Returns the verdict on a temporary code. The key may be disabled. Leaves `state` unchanged; a wrong code counts like
 * a wrong OTP.
 */
export const toTemporaryVerdict = (
  key: KeyChange & KeyValidity & { readonly temporaryCode?: TemporaryCode },
  code: string,
  rules: VerdictRules,
): KeyVerdict =>
  key.temporaryCode === undefined
    ? toVerdict(key, { outcome: "invalid" }, rules)
    : toVerdict({ ...key, enabled: true }, decideTemporaryCode(key.temporaryCode, code, rules.now), rules);

function inactiveReason(
  { enabled, stopped, validFrom, validUntil }: KeyValidity,
  now: Instant,
): InactiveReason | undefined {
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
