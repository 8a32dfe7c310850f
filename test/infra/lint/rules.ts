import { nameRules } from "./names.ts";
import type { Rule } from "./rule.ts";
import { knownAtTheStart } from "./start.ts";
import { valueRules } from "./values.ts";

/** Every rule by its name: the linter's where it has one. */
export const rules: Readonly<Record<string, Rule>> = {
  ...nameRules,
  ...valueRules,
  "known-at-the-start": knownAtTheStart,
};
