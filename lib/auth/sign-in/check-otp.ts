import { hashOf } from "../../platform/crypto.ts";
import { Fault } from "../../platform/fault.ts";
import { conflict, retryOnConflict, type Stored } from "../../platform/stored.ts";
import { plus } from "../../platform/time.ts";
import type { AuthDeps } from "../deps.ts";
import { secretContext, secretFromText } from "../otpkeys/kinds/key-secret.ts";
import { otpKinds } from "../otpkeys/kinds/kinds.ts";
import { possiblePrefixes, splitOtp } from "../otpkeys/kinds/split-otp.ts";
import { decideTemporaryCode, splitTemporaryOtp } from "../otpkeys/kinds/temporary-code.ts";
import type { AssignedKey, OtpKey } from "../store.ts";
import type { Refusal } from "./throttle.ts";
import { type CodeDecision, type KeyVerdict, toVerdict } from "./verdict.ts";

/** The result of an OTP check. */
export interface OtpResult {
  readonly outcome: Exclude<KeyVerdict["outcome"], "unavailable"> | "unknown_key" | "not_assigned";
  /** Prefix of the OTP key that the OTP belongs to. */
  readonly prefix?: string;
  /** Whether the OTP is valid, and its OTP key is one of the accepted ones. */
  readonly isAccepted?: boolean;
  readonly written: boolean;
  readonly isTemporary?: boolean;
}

/** Returns what an administrator sees of an attempt that was refused for its OTP. */
export const wrongOtp = ({ outcome, prefix }: OtpResult): Refusal => ({
  reason: "wrong_otp",
  otpOutcome: outcome,
  ...(prefix !== undefined && { prefix }),
});

/** The OTP keys that an OTP may belong to, as read. */
export type OtpCandidates = readonly Stored<OtpKey>[];

/** Reads the OTP keys that an OTP may belong to, in parallel: for most OTPs one (A7). */
export async function readCandidates(otp: string, { otpkeys }: Pick<AuthDeps, "otpkeys">): Promise<OtpCandidates> {
  const found = await Promise.all(possiblePrefixes(otp).map(prefix => otpkeys.find(prefix)));
  return found.filter(key => key !== undefined);
}

interface OtpRules {
  /**
   * The OTP keys whose OTPs count: the user's or, at a self-assignment, those that no other user has. They are tried
   * before other keys that match the OTP.
   */
  readonly accepted: readonly AssignedKey[];
  /** Whether a wrong OTP of an accepted OTP key counts against the key (A12). */
  readonly isCounted: boolean;
  /** Whether no OTP of another key is checked, not even of a kind that cannot be guessed. */
  readonly onlyAccepted?: boolean;
}

/**
 * Checks an OTP. A genuine OTP that is checked is used up, whether or not the sign-in succeeds (A5). The counter is
 * saved by compare-and-swap before the result is returned; after a conflict the check is repeated on the new row, so
 * that one OTP passes once (A8). An OTP that can be guessed, or that a validation server checks, is not checked unless
 * its OTP key is accepted: otherwise any caller could use up the OTPs of other users.
 * Throws Fault `unavailable` if no validation server responds.
 */
export async function checkOtp(
  otp: string,
  candidates: OtpCandidates,
  { accepted, isCounted, onlyAccepted = false }: OtpRules,
  deps: AuthDeps,
): Promise<OtpResult> {
  const isAccepted = ({ value }: Stored<OtpKey>) => accepted.some(({ id }) => id === value.id);
  /** By the id of the OTP key. A second query would answer REPLAYED_OTP, so a retry takes the verdict of the first. */
  const queried = new Map<number, CodeDecision>();
  let keys = candidates;
  return retryOnConflict(async () => {
    const split = splitByKeys(otp, keys, isAccepted);
    if (split === undefined) return { outcome: "unknown_key", written: false };
    const { key, code, isTemporary } = split;
    const { prefix, stopped, temporaryCode } = key.value;
    const found = { prefix, ...(isTemporary && { isTemporary }) };
    const isOfAccepted = isAccepted(key);
    if (!isOfAccepted && (isTemporary || onlyAccepted || !canCheckForAnyUser(key.value)))
      return { outcome: "not_assigned", ...found, written: false };
    const { outcome, next } = toVerdict(
      key.value,
      isTemporary ? decideTemporaryCode(temporaryCode, code, deps.now()) : await decide(code, key.value, queried, deps),
      { isCounted: isCounted && isOfAccepted, stopAfter: deps.rules.keyStopFailures, isTemporary, now: deps.now() },
    );
    if (outcome === "unavailable") throw noServerResponds();
    if (next === undefined) return { outcome, ...found, written: false };
    if ((await deps.otpkeys.save(key, next)) !== undefined) {
      if (next.stopped && !stopped) deps.log.warn("otpkey_stopped", { prefix });
      return { outcome, ...found, isAccepted: isOfAccepted && outcome === "valid", written: true };
    }
    keys = await readCandidates(otp, deps);
    return conflict;
  });
}

/** Splits the OTP by the accepted keys, else by any key. A temporary code is no OTP of its key. */
function splitByKeys(otp: string, keys: OtpCandidates, isAccepted: (key: Stored<OtpKey>) => boolean) {
  const temporary = splitTemporaryOtp(otp);
  if (temporary !== undefined) {
    const key = keys.find(({ value }) => value.prefix === temporary.prefix);
    return key && { key, code: temporary.code, isTemporary: true };
  }
  const split = splitOtp(otp, keys.filter(isAccepted)) ?? splitOtp(otp, keys);
  return split && { ...split, isTemporary: false };
}

/** Whether this service checks the OTPs of the key, and they cannot be guessed. */
function canCheckForAnyUser({ kind: name }: OtpKey): boolean {
  const kind = name && otpKinds[name];
  return kind?.checkedBy === "authentication-server" && !kind.isGuessable;
}

/** The OTP stays spent, so the message asks for a new one. */
const noServerResponds = (): Fault =>
  new Fault("unavailable", "OTPs cannot be checked at the moment. Try again later with a new OTP.", {
    retryAfterSeconds: 10,
  });

async function decide(
  code: string,
  key: OtpKey,
  queried: Map<number, CodeDecision>,
  deps: AuthDeps,
): Promise<CodeDecision> {
  const kind = key.kind && otpKinds[key.kind];
  if (kind?.checkedBy === "validation-server") {
    // As the key sent it: an OTP that is typed again under another keyboard layout is the same OTP.
    const result = queried.get(key.id) ?? (await spendAndQuery(key.prefix + code, key.prefix, deps));
    queried.set(key.id, result);
    // The counter does not change, but the row is written: the write fails if the key was disabled during the query.
    return result.outcome === "valid" ? { ...result, nextState: key.parameters.state } : result;
  }
  if (kind === undefined || key.sealedSecret === undefined) return { outcome: "invalid" };
  const secret = secretFromText(await deps.sealer.open(key.sealedSecret, secretContext(key.prefix)));
  return kind.decide({ secret, parameters: key.parameters }, code, { now: deps.now(), windows: deps.rules.windows });
}

/** Marks an OTP as spent before it is sent to the validation servers: after a time-out it stays spent. */
async function spendAndQuery(
  otp: string,
  prefix: string,
  { otpkeys, validateOtp, now, rules, log }: AuthDeps,
): Promise<CodeDecision> {
  if (!(await otpkeys.spendOtp(prefix, hashOf(otp), plus(now(), rules.spentOtpMs)))) return { outcome: "replayed" };
  const { outcome, detail } = await validateOtp(otp);
  log.info("otp_validation", { prefix, outcome, detail });
  return { outcome };
}
