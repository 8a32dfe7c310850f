import type { Decision, LocalKind } from "./contract.ts";
import { findMovingFactor, oathCodeFormats, prepareOath } from "./oath.ts";

/** Counter-based codes (RFC 4226, A7). The moving factor is the event counter; only later counters are accepted. */
export const hotp: LocalKind = {
  checkedBy: "authentication-server",
  isGuessable: true,
  codeFormats: oathCodeFormats,
  prepare: draft => prepareOath(draft, { period: "absent", algorithm: "absent", drift: "absent" }),
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
