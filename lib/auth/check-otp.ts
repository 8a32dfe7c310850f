import { createHash } from "node:crypto";
import { plus } from "../time.ts";
import type { AuthDeps } from "./deps.ts";
import type { RemoteKind } from "./otp/contract.ts";
import { secretFromText } from "./otp/key-secret.ts";
import { otpKind } from "./otp/kinds.ts";
import { cuts, split } from "./otp/split.ts";
import { type KeyVerdict, verdictOn } from "./otp/verdict.ts";
import type { AssignedKey, OtpKey, Stored } from "./ports.ts";
import { foldPrefix } from "./prefix.ts";

/** What an OTP came to, for the caller and for the audit. */
export interface OtpResult {
  readonly outcome: KeyVerdict["outcome"] | "unknown_key";
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
 * Checks an OTP and uses it up where it is genuine, whatever becomes of the sign-in (decisions A5, A8): the counter moves by
 * compare-and-swap before anything is said, and one that lost decides again from what is there now.
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
    const decision = await decide(code, stored.value, deps, others);
    const verdict = verdictOn({ ...stored.value, state: stored.value.form.state }, decision, {
      counts: counts(stored.value),
      stopAfter: deps.rules.keyStopFailures,
    });
    const key = { prefix: stored.value.prefix, id: stored.value.id };
    if (verdict.next === undefined) return { outcome: verdict.outcome, key, written: false };
    const { state, ...progress } = verdict.next;
    const next = { ...stored.value, ...progress, form: { ...stored.value.form, state } };
    if ((await deps.otpkeys.save(stored, next)) !== undefined) {
      if (next.stopped && !stored.value.stopped) deps.log.warn("otpkey_stopped", { prefix: key.prefix });
      return { outcome: verdict.outcome, key, written: true };
    }
    keys = await readCandidates(otp, deps);
  }
}

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
  if (kind.checked === "elsewhere") return others(key, kind);
  if (key.sealedSecret === undefined) return { outcome: "invalid" };
  const secret = secretFromText(await deps.sealer.open(key.sealedSecret, secretPlace(key.prefix)));
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

/** Where a key's sealed secret belongs (decision G8). */
export const secretPlace = (prefix: string) => ({ table: "otpkeys", row: `${prefix}/key`, purpose: "otp-secret" });
