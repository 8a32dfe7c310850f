import type { DraftProblem, KeyDraft } from "./contract.ts";

type Rule = "absent" | { readonly min: number; readonly max: number };
type Choice = "absent" | readonly (number | string)[];

/**
 * Returns the problems of a draft.
 * @param rules bounds of the lengths of secret and private id in bytes, the bounds of counter and drift, and the
 * allowed digits, periods and algorithms
 */
export function draftProblems(
  draft: KeyDraft,
  rules: {
    readonly secret: Rule;
    readonly privateId: Rule;
    readonly counter: Rule;
    readonly digits: Choice;
    readonly period: Choice;
    readonly algorithm: Choice;
    readonly drift: Rule;
  },
): DraftProblem[] {
  const problems: DraftProblem[] = [];
  const refuse = (field: keyof KeyDraft, reason: string | undefined) => {
    if (reason !== undefined) problems.push({ field, reason });
  };
  refuse("secret", lengthReason(draft.secret, rules.secret));
  refuse("privateId", lengthReason(draft.privateId, rules.privateId));
  for (const field of ["digits", "period", "algorithm"] as const) {
    refuse(field, choiceReason(draft[field], rules[field]));
  }
  for (const field of ["counter", "drift"] as const) refuse(field, rangeReason(draft[field], rules[field]));
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

function choiceReason(value: number | string | undefined, rule: Choice): string | undefined {
  if (value === undefined) return undefined;
  if (rule === "absent") return notOfThisKind;
  return rule.includes(value) ? undefined : `must be ${rule.slice(0, -1).join(", ")} or ${rule.at(-1)}`;
}

function rangeReason(value: number | undefined, rule: Rule): string | undefined {
  if (value === undefined) return undefined;
  if (rule === "absent") return notOfThisKind;
  const { min, max } = rule;
  if (Number.isInteger(value) && value >= min && value <= max) return undefined;
  return `must be a whole number from ${min} to ${max}`;
}
