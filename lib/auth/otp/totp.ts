import type { Instant } from "../../time.ts";
import type { Decision, LocalKind } from "./contract.ts";
import { findMovingFactor, oathForms, prepareOath } from "./oath.ts";

/** The default of RFC 6238. Imports with another step are refused. */
export const totpStepSeconds = 30;

/** Time-based codes (RFC 6238, A7). The moving factor is the number of steps since 1970. */
export const totp: LocalKind = {
  checkedBy: "authentication-server",
  isGuessable: true,
  forms: oathForms,
  prepare: prepareOath,
  decide({ secret: { secret }, form }, code, { now, windows }): Decision {
    const { counter } = form.state;
    const step = stepAt(now);
    const find = (from: number, to = from) => findMovingFactor(secret, code, from, to);
    // As in HOTP: the last used code can equal a later one by chance. Refuse it, or it could pass twice.
    if (find(counter - 1) !== undefined) return { outcome: "replayed" };

    const [first, last] = [step - windows.steps, step + windows.steps];
    const passing = find(Math.max(first, counter), last);
    if (passing !== undefined) return { outcome: "valid", nextState: { counter: passing + 1 } };
    return { outcome: find(first, Math.min(last, counter - 1)) === undefined ? "invalid" : "replayed" };
  },
  advancePastUses: ({ counter }, _uses, { now, windows }) => ({
    counter: Math.max(counter, stepAt(now) + windows.steps + 1),
  }),
};

const stepAt = (now: Instant): number => Math.floor(Date.parse(now) / 1000 / totpStepSeconds);
