import type { Instant } from "../../time.ts";
import { type Decision, type KeyForm, type LocalKind, totpAlgorithms } from "./contract.ts";
import { findMovingFactor, oathForms, prepareOath } from "./oath.ts";

/** Lengths of a time step in seconds. The first is the default, that of RFC 6238. */
const periods = [30, 60];
const [defaultPeriod = 30] = periods;
const [defaultAlgorithm] = totpAlgorithms;

/**
 * Time-based codes (RFC 6238, A7). The moving factor is the number of steps since 1970. The window for clocks that
 * drift is a number of steps, so that the same number of codes can be guessed at any time, with either step.
 */
export const totp: LocalKind = {
  checkedBy: "authentication-server",
  isGuessable: true,
  forms: oathForms,
  prepare(draft) {
    const prepared = prepareOath(draft, { period: periods, algorithm: totpAlgorithms });
    if (!prepared.ok) return prepared;
    const { period = defaultPeriod, algorithm = defaultAlgorithm } = draft;
    return { ...prepared, form: { ...prepared.form, period, algorithm } };
  },
  decide({ secret: { secret }, form }, code, { now, windows }): Decision {
    const { counter } = form.state;
    const step = stepAt(now, form);
    const find = (from: number, to = from) => findMovingFactor({ secret, algorithm: form.algorithm }, code, from, to);
    // As in HOTP: the last used code can equal a later one by chance. Refuse it, or it could pass twice.
    if (find(counter - 1) !== undefined) return { outcome: "replayed" };

    const [first, last] = [step - windows.steps, step + windows.steps];
    const passing = find(Math.max(first, counter), last);
    if (passing !== undefined) return { outcome: "valid", nextState: { counter: passing + 1 } };
    return { outcome: find(first, Math.min(last, counter - 1)) === undefined ? "invalid" : "replayed" };
  },
  advancePastUses: (form, _uses, { now, windows }) => ({
    counter: Math.max(form.state.counter, stepAt(now, form) + windows.steps + 1),
  }),
};

const stepAt = (now: Instant, { period = defaultPeriod }: KeyForm): number =>
  Math.floor(Date.parse(now) / 1000 / period);
