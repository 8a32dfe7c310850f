import type { DraftRules, KeyDraft } from "./contract.ts";

const fields = ["secret", "privateId", "digits", "period", "algorithm", "counter", "drift"] as const;

/** A field of an import that a kind refuses. */
interface DraftProblem {
  readonly field: keyof KeyDraft;
  /** The rest of a sentence that begins with the field. Never quotes the value. */
  readonly reason: string;
}

/** Returns the problems of a draft by the rules of its kind. */
export const draftProblems = (draft: KeyDraft, rules: DraftRules): readonly DraftProblem[] =>
  fields.flatMap(field => {
    const reason = reasonOf(field, draft[field], rules[field]);
    return reason === undefined ? [] : [{ field, reason }];
  });

function reasonOf(
  field: keyof KeyDraft,
  value: KeyDraft[keyof KeyDraft],
  rule: DraftRules[keyof KeyDraft],
): string | undefined {
  if (rule === undefined) return value === undefined ? undefined : "is not for this kind of key";
  if (value === undefined) return field === "secret" || field === "privateId" ? "is required" : undefined;
  if (!("min" in rule)) {
    const isAllowed = rule.some(allowed => allowed === value);
    return isAllowed ? undefined : `must be ${rule.slice(0, -1).join(", ")} or ${rule.at(-1)}`;
  }
  const { min, max } = rule;
  const isBytes = typeof value === "object";
  const size = isBytes ? value.length : Number(value);
  if (Number.isInteger(size) && size >= min && size <= max) return undefined;
  if (!isBytes) return `must be a whole number from ${min} to ${max}`;
  return min === max ? `must have ${min} bytes` : `must have ${min} to ${max} bytes`;
}
