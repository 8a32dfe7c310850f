import type { DraftProblem, KeyDraft } from "./contract.ts";

type Rule = "absent" | { readonly min: number; readonly max: number };

/**
 * Returns the problems of a draft.
 * @param rules bounds of the lengths of secret and private id in bytes, the allowed digits, the bounds of the counter
 */
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
  const { min, max } = rule;
  if (bytes.length >= min && bytes.length <= max) return undefined;
  return min === max ? `must have ${min} bytes` : `must have ${min} to ${max} bytes`;
}

function digitsReason(digits: number | undefined, rule: "absent" | readonly number[]): string | undefined {
  if (digits === undefined) return undefined;
  if (rule === "absent") return notOfThisKind;
  return rule.includes(digits) ? undefined : `must be ${rule.join(" or ")}`;
}

function counterReason(counter: number | undefined, rule: Rule): string | undefined {
  if (counter === undefined) return undefined;
  if (rule === "absent") return notOfThisKind;
  const { min, max } = rule;
  if (Number.isInteger(counter) && counter >= min && counter <= max) return undefined;
  return `must be a whole number from ${min} to ${max}`;
}
