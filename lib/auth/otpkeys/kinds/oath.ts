import { createHmac, createSecretKey, type KeyObject, timingSafeEqual } from "node:crypto";
import { type CryptoPlugin, createGuardrails, verifySync } from "otplib";
import { omitUndefined } from "../../../platform/collections.ts";
import type { Instant } from "../../../platform/time.ts";
import {
  type CodeFormat,
  type Decision,
  type DraftRules,
  type KeyDraft,
  type KeyParameters,
  type KeyState,
  type LocalKind,
  type PreparedKey,
  type TotpAlgorithm,
  totpAlgorithms,
} from "./contract.ts";

const lengths = [6, 7, 8];

/** Forms of codes of both OATH kinds: 6 to 8 digits (A7). */
const oathCodeFormats: readonly CodeFormat[] = lengths.map(length => ({ length, alphabet: "digits" }));

/** At least 112 bits. At most one block of SHA-1 and SHA-256: HMAC would hash a longer secret down to fewer bytes. */
const secretBytes = { min: 14, max: 64 };
/** The maximum leaves room for every window below 2^53. */
const counter = { min: 0, max: 2 ** 52 };
/** Safety limit of the library; our widest window is `hotpResync`. */
const maxWindow = 1000;

const guardrails = createGuardrails({
  MIN_SECRET_BYTES: secretBytes.min,
  MAX_SECRET_BYTES: secretBytes.max,
  MAX_COUNTER: Number.MAX_SAFE_INTEGER,
  // The library counts the codes of a window, both ends included.
  MAX_WINDOW: maxWindow + 1,
});

/** Cached, because creating a key object costs several times the HMAC of one code, and a window has many codes. */
const keyObjects = new WeakMap<Uint8Array, KeyObject>();

function keyObjectOf(secret: Uint8Array): KeyObject {
  const key = keyObjects.get(secret) ?? createSecretKey(secret);
  keyObjects.set(secret, key);
  return key;
}

/** HMAC and constant-time comparison of Node. */
const nodeCrypto: CryptoPlugin = {
  name: "node",
  hmac: (algorithm, key, data) => createHmac(algorithm, keyObjectOf(key)).update(data).digest(),
  randomBytes: () => {
    throw new Error("Checking a code needs no randomness");
  },
  constantTimeEqual: (a, b) => {
    const [one, other] = [Buffer.from(a), Buffer.from(b)];
    return one.length === other.length && timingSafeEqual(one, other);
  },
};

const oathRules: DraftRules = { secret: secretBytes, digits: lengths, counter };

/** Returns what is stored of an imported OATH key, with the defaults: 6 digits, counter 0. */
const prepareOath = ({ secret, digits = 6, counter = 0, drift }: KeyDraft): PreparedKey => ({
  parameters: { digits, state: { counter, ...omitUndefined({ drift }) } },
  ...(secret && { secret: { secret } }),
});

const hashes = { SHA1: "sha1", SHA256: "sha256", SHA512: "sha512" } as const;

/**
 * Returns the smallest moving factor (RFC 4226) in [from, to] that produces `code`; undefined if there is none. Throws
 * if the window is wider than `maxWindow`.
 */
function findMovingFactor(
  { secret, algorithm = "SHA1" }: { readonly secret: Uint8Array; readonly algorithm?: TotpAlgorithm | undefined },
  code: string,
  from: number,
  to: number,
): number | undefined {
  if (from < 0 || to < from) return undefined;
  const result = verifySync({
    strategy: "hotp",
    secret,
    token: code,
    algorithm: hashes[algorithm],
    digits: code.length === 8 ? 8 : code.length === 7 ? 7 : 6,
    counter: from,
    counterTolerance: [0, to - from],
    crypto: nodeCrypto,
    guardrails,
  });
  return result.valid ? from + result.delta : undefined;
}

/** Counter-based codes (RFC 4226, A7). The moving factor is the event counter; only later counters are accepted. */
export const hotp: LocalKind = {
  checkedBy: "authentication-server",
  isGuessable: true,
  codeFormats: oathCodeFormats,
  rules: oathRules,
  prepare: prepareOath,
  decide({ secret: { secret }, parameters }, code, { windows }): Decision {
    const { counter, resync } = parameters.state;
    const find = (from: number, to = from) => findMovingFactor({ secret }, code, from, to);
    // Codes are short, so the last used code can equal a later one by chance. Refuse it, or it could pass twice.
    if (find(counter - 1) !== undefined) return { outcome: "replayed" };

    const expected = find(counter, counter + windows.lookAhead);
    const passing = expected ?? (resync === undefined ? undefined : find(resync));
    if (passing !== undefined) return { outcome: "valid", nextState: { counter: passing + 1 } };

    const ahead = find(counter + windows.lookAhead + 1, counter + windows.resync);
    if (ahead === undefined) return { outcome: "invalid" };
    return { outcome: "out_of_step", nextState: { counter, resync: ahead + 1 } };
  },
  advancePastUses: ({ state: { counter } }, uses) => ({ counter: counter + uses }),
};

/** Lengths of a time step in seconds. The first is the default, that of RFC 6238. */
const periods = [30, 60];
const [defaultPeriod = 30] = periods;
const [defaultAlgorithm] = totpAlgorithms;
/** More than any clock drifts in the life of an OTP key: 3 days of 30-second steps. */
const maxDrift = 10_000;

/**
 * Number of steps before and after the expected one in which a resynchronisation may begin. A quartz clock drifts about
 * one minute a year, so these are five years of an unused OTP key; more would only add codes that can be guessed.
 */
const resyncSteps = 10;

/**
 * Time-based codes (RFC 6238, A7). The moving factor is the number of steps since 1970. The window for clocks that
 * drift is a number of steps, so that the same number of codes can be guessed at any time, with either step. Two codes
 * in a row outside the window record the drift of the OTP key, which moves the window (RFC 6238, section 6).
 */
export const totp: LocalKind = {
  checkedBy: "authentication-server",
  isGuessable: true,
  codeFormats: oathCodeFormats,
  rules: { ...oathRules, period: periods, algorithm: totpAlgorithms, drift: { min: -maxDrift, max: maxDrift } },
  prepare(draft) {
    const { parameters, ...secret } = prepareOath(draft);
    const { period = defaultPeriod, algorithm = defaultAlgorithm } = draft;
    return { ...secret, parameters: { ...parameters, period, algorithm } };
  },
  decide({ secret: { secret }, parameters }, code, { now, windows }): Decision {
    const { resync, ...kept } = parameters.state;
    const { counter } = kept;
    const expected = expectedStep(now, parameters);
    const find = (from: number, to = from) =>
      findMovingFactor({ secret, algorithm: parameters.algorithm }, code, from, to);
    // As in HOTP: the last used code can equal a later one by chance. Refuse it, or it could pass twice.
    if (find(counter - 1) !== undefined) return { outcome: "replayed" };

    const passing = find(Math.max(expected - windows.steps, counter), expected + windows.steps);
    if (passing !== undefined) return { outcome: "valid", nextState: { ...kept, counter: passing + 1 } };

    const [first, last] = [Math.max(expected - resyncSteps, 0), expected + resyncSteps];
    if (resync !== undefined && resync >= first && resync <= last && find(resync) !== undefined) {
      return { outcome: "valid", nextState: { counter: resync + 1, drift: resync - stepAt(now, parameters) } };
    }
    const outside = find(Math.max(first, counter), last);
    if (outside !== undefined) return { outcome: "out_of_step", nextState: { ...kept, resync: outside + 1 } };
    return { outcome: find(first, Math.min(last, counter - 1)) === undefined ? "invalid" : "replayed" };
  },
  advancePastUses(parameters, _uses, { now }): KeyState {
    const { resync: _, ...kept } = parameters.state;
    return { ...kept, counter: Math.max(kept.counter, expectedStep(now, parameters) + resyncSteps + 1) };
  },
};

const stepAt = (now: Instant, { period = defaultPeriod }: KeyParameters): number =>
  Math.floor(Date.parse(now) / 1000 / period);

/** Returns the step of the OTP key's own clock, as far as its drift is known. */
const expectedStep = (now: Instant, parameters: KeyParameters): number =>
  stepAt(now, parameters) + (parameters.state.drift ?? 0);
