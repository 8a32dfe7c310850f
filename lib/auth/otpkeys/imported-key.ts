import { invalidRequest, type Problem } from "../../platform/fault.ts";
import { maxAssignedKeys, type User } from "../store.ts";
import type { KeyDraft, KeyParameters, KeySecret, Prepared } from "./kinds/contract.ts";
import { type OtpKindName, otpKind } from "./kinds/kinds.ts";
import { unusedParameters } from "./manage-otpkeys.ts";
import { type Validity, validityProblems } from "./validity.ts";

/** An OTP key to import (A10). */
export interface ImportedKey extends KeyDraft {
  readonly prefix: string;
  readonly kind?: OtpKindName | undefined;
  /** Whether the import may replace another secret. */
  readonly replace: boolean;
  readonly validity: Validity;
  /**
   * Whether the import may change validity and parameters of an OTP key that was imported before, and raise its counter
   * by any number. That revives an expired key, or ends one in use.
   */
  readonly mayChange: boolean;
  /** Whether the OTP key may be assigned to a user although another user has it. */
  readonly mayShare: boolean;
}

interface PreparedKey {
  readonly parameters: KeyParameters;
  readonly secret?: KeySecret;
}

/** Returns what an import stores of an OTP key. Throws Fault `invalid`. */
export function prepare(imported: ImportedKey): PreparedKey {
  const prepared = prepareDraft(imported);
  if (!prepared.ok) throw invalidRequest(importProblems(imported));
  return prepared;
}

/** What can be checked of an import without the stored OTP key. */
type ImportDraft = KeyDraft & Pick<ImportedKey, "kind" | "validity">;

const prepareDraft = ({ kind, ...draft }: ImportDraft): Prepared =>
  kind === undefined ? { ok: true, parameters: unusedParameters } : otpKind(kind).prepare(draft);

/** Returns every problem of an import that does not depend on what is stored. */
export function importProblems(imported: ImportDraft): readonly Problem[] {
  const prepared = prepareDraft(imported);
  const ofDraft = prepared.ok ? [] : prepared.problems;
  return [
    ...ofDraft.map(({ field, reason }) => ({ path: wireNames[field], reason })),
    ...validityProblems(imported.validity),
  ];
}

/**
 * Throws Fault `invalid` with every problem of an import that does not depend on the stored OTP key, and the caller's.
 * @param ownerProblem see `findOwnerProblem`
 */
export function requireValidImport(
  imported: ImportedKey,
  {
    ownerProblem,
    problems = [],
  }: { readonly ownerProblem: Problem | undefined; readonly problems?: readonly Problem[] | undefined },
): void {
  const all = [...problems, ...importProblems(imported), ...(ownerProblem ? [ownerProblem] : [])];
  if (all.length > 0) throw invalidRequest(all);
}

export const unknownUsername: Problem = { path: "username", reason: "is not the name of a user" };

/**
 * Returns why an OTP key cannot be assigned to a user; undefined if it can.
 * @param prefixes prefixes of the OTP keys of the user; undefined if there is no such user
 */
export function findOwnerProblem(prefixes: ReadonlySet<string> | undefined, prefix: string): Problem | undefined {
  if (prefixes === undefined) return unknownUsername;
  if (prefixes.size < maxAssignedKeys || prefixes.has(prefix)) return undefined;
  return { path: "username", reason: `is that of a user who has ${maxAssignedKeys} otpkeys already` };
}

/** Returns the prefixes of the OTP keys of a user. */
export const prefixesOf = ({ otpkeys }: Pick<User, "otpkeys">): Set<string> =>
  new Set(otpkeys.map(({ prefix }) => prefix));

const wireNames: Record<keyof KeyDraft, string> = {
  secret: "secret",
  privateId: "private_id",
  digits: "digits",
  counter: "counter",
  period: "period",
  algorithm: "algorithm",
  drift: "drift",
};
