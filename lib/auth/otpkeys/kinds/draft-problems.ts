import type { DraftProblem, KeyDraft } from "./contract.ts";

interface Bounds {
  readonly min: number;
  readonly max: number;
}

/** What a kind allows. Fields without a rule are not of the kind. */
export interface DraftRules {
  /** Bounds of the length in bytes. A secret, and a private id, that the kind has is required. */
  readonly secret?: Bounds;
  readonly privateId?: Bounds;
  readonly digits?: readonly number[];
  readonly period?: readonly number[];
  readonly algorithm?: readonly string[];
  readonly counter?: Bounds;
  readonly drift?: Bounds;
}

const fields = ["secret", "privateId", "digits", "period", "algorithm", "counter", "drift"] as const;

/** Returns the problems of a draft. */
export const draftProblems = (draft: KeyDraft, rules: DraftRules): DraftProblem[] =>
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
