import type { Instant } from "../../../platform/time.ts";
import { type Decision, type KeyParameters, type KeyState, type LocalKind, totpAlgorithms } from "./contract.ts";
import { findMovingFactor, oathCodeFormats, prepareOath } from "./oath.ts";

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
  prepare(draft) {
    const prepared = prepareOath(draft, {
      period: periods,
      algorithm: totpAlgorithms,
      drift: { min: -maxDrift, max: maxDrift },
    });
    if (!prepared.ok) return prepared;
    const { period = defaultPeriod, algorithm = defaultAlgorithm } = draft;
    return { ...prepared, parameters: { ...prepared.parameters, period, algorithm } };
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
