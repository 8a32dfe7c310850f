import { Fault } from "../fault.ts";
import type { AuthDeps } from "./deps.ts";

/** What a caller presents. An empty text is as if absent. */
export interface Credentials {
  readonly username?: string | undefined;
  readonly password?: string | undefined;
  readonly otp?: string | undefined;
}

/** What came of an authentication. `reason` where it was not granted. */
export interface Outcome {
  readonly outcome: "granted" | "refused" | "undecided";
  readonly userId?: number | undefined;
  /** As it is shown; as it was given, where nobody is known by it. */
  readonly username?: string | undefined;
  readonly reason?: string | undefined;
  readonly otpOutcome?: string | undefined;
  /** Of the key that the OTP names. */
  readonly prefix?: string | undefined;
}

/**
 * Every authentication, good or bad, in one event (decision A12): who, which factors, what came of it and why. The caller's address
 * and the request id are in every line.
 */
export function audit({ log }: AuthDeps, { username, password, otp }: Credentials, told: Outcome): void {
  const factors = [...(password === undefined ? [] : ["password"]), ...(otp === undefined ? [] : ["otp"])];
  log.info("authentication", { ...told, username: (told.username ?? username)?.slice(0, 128), factors });
}

/** An authentication that ended before it was decided: refused where it was throttled. */
export function auditEnded(deps: AuthDeps, given: Credentials, error: unknown): void {
  const reason = error instanceof Fault ? error.kind : "internal";
  audit(deps, given, { outcome: reason === "throttled" ? "refused" : "undecided", reason });
}
