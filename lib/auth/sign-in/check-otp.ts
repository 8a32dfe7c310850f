import { createHash } from "node:crypto";
import { Fault } from "../../fault.ts";
import { plus } from "../../time.ts";
import type { AuthDeps } from "../deps.ts";
import { foldPrefix } from "../model/prefix.ts";
import type { RemoteKind } from "../otp/contract.ts";
import { secretContext, secretFromText } from "../otp/key-secret.ts";
import { otpKind } from "../otp/kinds.ts";
import { cuts, split } from "../otp/split.ts";
import { type KeyVerdict, verdictOn } from "../otp/verdict.ts";
import type { AssignedKey, OtpKey, Stored } from "../store.ts";

/** What an OTP came to, for the caller and for the audit. */
export interface OtpResult {
  readonly outcome: Exclude<KeyVerdict["outcome"], "unavailable"> | "unknown_key" | "not_assigned";
  /** Of the key that the OTP names. */
  readonly key?: AssignedKey;
  /** Whether the key's row was written. */
  readonly written: boolean;
}

/** The keys that an OTP may be of, as they are now. */
export type OtpCandidates = readonly Stored<OtpKey>[];

/** Reads the keys that an OTP may be of: two at most, side by side (decision A7). */
export async function readCandidates(otp: string, { otpkeys }: Pick<AuthDeps, "otpkeys">): Promise<OtpCandidates> {
  const found = await Promise.all(cuts(otp).map(({ prefix }) => otpkeys.find(prefix)));
  return found.filter(key => key !== undefined);
}

/**
 * Checks an OTP and uses it up where it is genuine, whether or not the sign-in succeeds (decisions A5, A8): the counter moves by
 * compare-and-swap before anything is said, and one that lost decides again from what is there now. An OTP that another person
 * could have guessed changes nothing and is sent to no validation server, unless the named user has its key: otherwise anybody
 * could use up another person's OTPs.
 * Throws Fault `unavailable` when no validation server answers.
 * @param assigned keys of the named user: they count before others of the same look
 * @param counts whether a wrong OTP counts against the key (decision A12)
 */
export async function checkOtp(
  otp: string,
  candidates: OtpCandidates,
  { assigned, counts }: { assigned: readonly AssignedKey[]; counts: (key: OtpKey) => boolean },
  deps: AuthDeps,
): Promise<OtpResult> {
  const others = askedOnce(otp, deps);
  let keys = candidates;
  for (;;) {
    const cut = cutOf(otp, keys, assigned);
    if (cut === undefined) return { outcome: "unknown_key", written: false };
    const { stored, code } = cut;
    const key = { prefix: stored.value.prefix, id: stored.value.id };
    if (!isChecked(stored.value, assigned)) return { outcome: "not_assigned", key, written: false };
    const decision = await decide(code, stored.value, deps, others);
    const verdict = verdictOn({ ...stored.value, state: stored.value.form.state }, decision, {
      counts: counts(stored.value),
      stopAfter: deps.rules.keyStopFailures,
    });
    const { outcome } = verdict;
    if (outcome === "unavailable") throw noServerAnswers();
    if (verdict.next === undefined) return { outcome, key, written: false };
    const { state, ...progress } = verdict.next;
    const next = { ...stored.value, ...progress, form: { ...stored.value.form, state } };
    if ((await deps.otpkeys.save(stored, next)) !== undefined) {
      if (next.stopped && !stored.value.stopped) deps.log.warn("otpkey_stopped", { prefix: key.prefix });
      return { outcome, key, written: true };
    }
    keys = await readCandidates(otp, deps);
  }
}

/** Whether an OTP of this key is checked: the named user has the key, or no guess can hit its OTPs (decision A5). */
function isChecked({ id, kind: name }: OtpKey, assigned: readonly AssignedKey[]): boolean {
  if (assigned.some(key => key.id === id)) return true;
  const kind = name && otpKind(name);
  return kind?.checked === "here" && !kind.isGuessable;
}

/** Seconds until another attempt makes sense after no validation server answered. */
const retryAfter = 10;

/** The OTP stays spent (decision A8), so the caller is asked for a new one. */
const noServerAnswers = (): Fault =>
  new Fault("unavailable", "OTPs cannot be checked at the moment. Try again later with a new OTP.", { retryAfter });

interface KeyCut {
  readonly stored: Stored<OtpKey>;
  readonly code: string;
}

/** Where the OTP is cut: by the named user's keys first, then by any (decision A7). */
function cutOf(otp: string, keys: OtpCandidates, assigned: readonly AssignedKey[]): KeyCut | undefined {
  const isAssigned = ({ value }: Stored<OtpKey>) => assigned.some(({ id }) => id === value.id);
  for (const among of [keys.filter(isAssigned), keys]) {
    const shaped = among.map(stored => ({ kind: stored.value.kind, digits: stored.value.form.digits, stored }));
    const cut = split(otp, prefix => shaped.find(({ stored }) => stored.value.prefix === prefix));
    if (cut !== undefined) return { stored: cut.key.stored, code: cut.code };
  }
  return undefined;
}

type Decided = Parameters<typeof verdictOn>[1];

/** Asks others about an OTP of a key. */
type Ask = (key: OtpKey, kind: RemoteKind) => Promise<Decided>;

async function decide(code: string, key: OtpKey, deps: AuthDeps, others: Ask): Promise<Decided> {
  if (key.kind === undefined) return { outcome: "invalid" };
  const kind = otpKind(key.kind);
  if (kind.checked === "elsewhere") {
    const answer = await others(key, kind);
    // No counter moves, yet the row is written: the write fails where the key was disabled while the server was asked.
    return answer.outcome === "valid" ? { ...answer, nextState: key.form.state } : answer;
  }
  if (key.sealedSecret === undefined) return { outcome: "invalid" };
  const secret = secretFromText(await deps.sealer.open(key.sealedSecret, secretContext(key.prefix)));
  return kind.decide({ secret, form: key.form }, code, { now: deps.now(), windows: deps.rules.windows });
}

/** What others said stands, also where the key's row was written meanwhile: asked again they would call the OTP spent. */
function askedOnce(otp: string, deps: AuthDeps): Ask {
  const answers = new Map<number, Promise<Decided>>();
  return (key, kind) => {
    const answer = answers.get(key.id) ?? askServers(foldPrefix(otp), key, kind, deps);
    answers.set(key.id, answer);
    return answer;
  };
}

/** An OTP that others check is spent before they are asked: a time-out leaves it spent (decision A8). */
async function askServers(
  otp: string,
  key: OtpKey,
  kind: RemoteKind,
  { otpkeys, otpPeers, now, rules, log }: AuthDeps,
): Promise<Decided> {
  const hash = createHash("sha256").update(otp, "utf8").digest("base64url");
  if (!(await otpkeys.spend(key.prefix, hash, plus(now(), rules.spentOtpMs)))) return { outcome: "replayed" };
  const { outcome, detail } = await kind.ask(otp, otpPeers);
  log.info("otp_validation", { prefix: key.prefix, outcome, detail });
  return { outcome };
}
