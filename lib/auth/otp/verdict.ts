import type { KeyState } from "./contract.ts";

/** What moves on a key's row when an OTP is checked. */
export interface KeyProgress {
  readonly state: KeyState;
  /** Wrong OTPs in a row (decision A12). */
  readonly failures: number;
  /** By too many of them, until an administrator enables the key again. */
  readonly stopped: boolean;
}

export interface KeyVerdict {
  /** `disabled`, `stopped`: genuine or not, such a key never verifies. */
  readonly outcome: "valid" | "out_of_step" | "replayed" | "invalid" | "unavailable" | "disabled" | "stopped";
  /** To be written by the row's ETag before the outcome is told (decision A8). Absent where nothing changes. */
  readonly next?: KeyProgress;
}

/**
 * What a decision on a code means for its key: a genuine OTP is used up whatever becomes of it (decisions A5, A10), and a wrong
 * one counts where it may, so that verification and count are one write (decision A12).
 * @param counts the named user holds the key and the password factor was satisfied; never at validate (decision A13)
 */
export function verdictOn(
  key: KeyProgress & { readonly enabled: boolean },
  decision: { readonly outcome: KeyVerdict["outcome"]; readonly nextState?: KeyState },
  { counts, stopAfter }: { readonly counts: boolean; readonly stopAfter: number },
): KeyVerdict {
  const open = key.enabled && !key.stopped;
  const outcome = open ? decision.outcome : key.enabled ? "stopped" : "disabled";
  const failures = open && counts ? failuresAfter(key.failures, outcome) : key.failures;
  if (decision.nextState === undefined && failures === key.failures) return { outcome };
  const stopped = key.stopped || (open && counts && failures >= stopAfter);
  return { outcome, next: { state: decision.nextState ?? key.state, failures, stopped } };
}

function failuresAfter(failures: number, outcome: KeyVerdict["outcome"]): number {
  if (outcome === "unavailable") return failures;
  return outcome === "valid" ? 0 : failures + 1;
}
