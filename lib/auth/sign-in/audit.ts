import { Fault } from "../../fault.ts";
import type { AuthDeps } from "../deps.ts";
import type { UserSummary } from "../store.ts";
import { Busy } from "./throttle-attempt.ts";

/** What a caller presents. An empty text is as if absent. */
export interface Credentials {
  readonly username?: string | undefined;
  readonly password?: string | undefined;
  readonly otp?: string | undefined;
}

/** What came of an authentication. `reason` where it was not granted. */
export interface Outcome {
  readonly outcome: "granted" | "refused" | "undecided";
  /** Absent where none is known. */
  readonly user?: UserSummary | undefined;
  readonly reason?: string | undefined;
  readonly otpOutcome?: string | undefined;
  /** Of the key that the OTP names. */
  readonly prefix?: string | undefined;
}

/**
 * Writes the one event of an authentication, good or bad (decision A12): user, factors, outcome and reason. The caller's address
 * and the request id are in every line. A username that is no known user's is logged as a keyed hash: people type passwords and
 * OTPs into the wrong field (decision G10).
 */
export async function audit(deps: AuthDeps, given: Credentials, { user, ...told }: Outcome): Promise<void> {
  const factors = (["password", "otp"] as const).filter(factor => given[factor] !== undefined);
  const { username } = given;
  const who =
    user === undefined
      ? { usernameHash: username === undefined ? undefined : await deps.usernameHash(username) }
      : { userId: user.id, username: user.name };
  deps.log.info("authentication", { ...told, ...who, factors });
}

/** The outcome of an authentication that ended by an error: refused where it was throttled, else undecided. */
export function outcomeOf(error: unknown): Pick<Outcome, "outcome" | "reason"> {
  if (error instanceof Busy) return { outcome: "undecided", reason: "busy" };
  const reason = error instanceof Fault ? error.kind : "internal";
  return { outcome: reason === "throttled" ? "refused" : "undecided", reason };
}
