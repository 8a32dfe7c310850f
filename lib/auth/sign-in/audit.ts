import { Fault } from "../../platform/fault.ts";
import type { AuthDeps } from "../deps.ts";
import { OverloadFault } from "../passwords/hash-places.ts";
import type { UserSummary } from "../store.ts";
import { BusyFault } from "./throttle-attempt.ts";

/** The credentials that a caller presents. An empty text counts as absent. */
export interface Credentials {
  readonly username?: string | undefined;
  readonly password?: string | undefined;
  readonly otp?: string | undefined;
}

/** The outcome of an authentication. */
export interface Outcome {
  readonly outcome: "granted" | "refused" | "undecided";
  /** Absent if the user is unknown. */
  readonly user?: UserSummary | undefined;
  /** Present unless the outcome is `granted`. */
  readonly reason?: string | undefined;
  readonly otpOutcome?: string | undefined;
  /** Whether the OTP was a temporary code. */
  readonly temporaryCode?: boolean | undefined;
  /** Prefix of the OTP key that the OTP belongs to. */
  readonly prefix?: string | undefined;
  /** True if the attempt counts against a device instead of the username (A23). */
  readonly device?: true | undefined;
}

/**
 * Writes the audit event of an authentication, granted or not: user, factors, outcome and reason (A12). The log adds the
 * caller's address and the request id. Logs an unknown username only as a keyed hash, because people type passwords and OTPs
 * into the wrong field (G10).
 */
export async function audit(deps: AuthDeps, given: Credentials, { user, ...outcome }: Outcome): Promise<void> {
  const factors = (["password", "otp"] as const).filter(factor => given[factor] !== undefined);
  const { username } = given;
  const who =
    user === undefined
      ? { usernameHash: username === undefined ? undefined : await deps.hashUsernameForLog(username) }
      : { userId: user.id, username: user.name };
  deps.log.info("authentication", { ...outcome, ...who, factors });
}

/** Returns the outcome of an authentication that failed with an error: refused if it was throttled, else undecided. */
export function outcomeOf(error: unknown): Pick<Outcome, "outcome" | "reason"> {
  if (error instanceof BusyFault) return { outcome: "undecided", reason: "busy" };
  if (error instanceof OverloadFault) return { outcome: "undecided", reason: "overloaded" };
  const reason = error instanceof Fault ? error.kind : "internal";
  return { outcome: reason === "throttled" ? "refused" : "undecided", reason };
}
