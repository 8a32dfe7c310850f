import type { DraftProblem, KeyDraft } from "./contract.ts";

type Rule = "absent" | { readonly least: number; readonly most: number };

/** The problems of a draft: lengths in bytes of secret and private id, the digits allowed, the bounds of the counter. */
export function draftProblems(
  draft: KeyDraft,
  rules: {
    readonly secret: Rule;
    readonly privateId: Rule;
    readonly digits: "absent" | readonly number[];
    readonly counter: Rule;
  },
): DraftProblem[] {
  const problems: DraftProblem[] = [];
  const refuse = (field: keyof KeyDraft, reason: string | undefined) => {
    if (reason !== undefined) problems.push({ field, reason });
  };
  refuse("secret", lengthReason(draft.secret, rules.secret));
  refuse("privateId", lengthReason(draft.privateId, rules.privateId));
  refuse("digits", digitsReason(draft.digits, rules.digits));
  refuse("counter", counterReason(draft.counter, rules.counter));
  return problems;
}

const notOfThisKind = "is not for this kind of key";

function lengthReason(bytes: Uint8Array | undefined, rule: Rule): string | undefined {
  if (rule === "absent") return bytes === undefined ? undefined : notOfThisKind;
  if (bytes === undefined) return "is required";
  const { least, most } = rule;
  if (bytes.length >= least && bytes.length <= most) return undefined;
  return least === most ? `must have ${least} bytes` : `must have ${least} to ${most} bytes`;
}

function digitsReason(digits: number | undefined, rule: "absent" | readonly number[]): string | undefined {
  if (digits === undefined) return undefined;
  if (rule === "absent") return notOfThisKind;
  return rule.includes(digits) ? undefined : `must be ${rule.join(" or ")}`;
}

function counterReason(counter: number | undefined, rule: Rule): string | undefined {
  if (counter === undefined) return undefined;
  if (rule === "absent") return notOfThisKind;
  const { least, most } = rule;
  if (Number.isInteger(counter) && counter >= least && counter <= most) return undefined;
  return `must be a whole number from ${least} to ${most}`;
}
