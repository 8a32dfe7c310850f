import { invalidRequest, type Problem } from "../../platform/fault.ts";
import { maxAssignedKeys } from "../store.ts";
import type { UserRef } from "../users/username.ts";
import type { KeyDraft, PreparedKey } from "./kinds/contract.ts";
import { draftProblems } from "./kinds/draft-problems.ts";
import { type OtpKindName, otpKinds } from "./kinds/kinds.ts";
import { adminRequired, unusedParameters } from "./manage-otpkeys.ts";
import { type Validity, validityProblems } from "./otpkey-access.ts";

export type Owner = Extract<UserRef, { readonly by: "name" }>;

/** An OTP key to import (A10). */
export interface ImportedKey extends KeyDraft {
  readonly prefix: string;
  readonly kind?: OtpKindName | undefined;
  /** Whether the import may replace another secret. */
  readonly replace: boolean;
  readonly validity: Validity;
  /** The user to whom the OTP key is assigned, by name. */
  readonly owner?: Owner | undefined;
  /**
   * Whether the caller may take over an OTP key that was imported before, revive it or end its use: replace its secret,
   * change validity and parameters, raise the counter by any number, and assign it although another user has it.
   */
  readonly mayTakeOver: boolean;
}

/** What can be checked of an import without the stored OTP key. */
type ImportDraft = KeyDraft & Pick<ImportedKey, "kind" | "validity">;

/** Returns every problem of an import that does not depend on what is stored. */
export function importProblems({ kind, validity, ...draft }: ImportDraft): readonly Problem[] {
  const ofDraft = kind === undefined ? [] : draftProblems(draft, otpKinds[kind].rules);
  return [
    ...ofDraft.map(({ field, reason }) => ({ path: field === "privateId" ? "private_id" : field, reason })),
    ...validityProblems(validity),
  ];
}

/**
 * Returns secret and parameters of an import that has no problem but for those of the stored OTP key. Throws Fault
 * `invalid` with every problem, `forbidden` for a replacement that is not allowed.
 * @param owned prefixes of the OTP keys of the user whom the import names; undefined if there is no such user
 */
export function prepareImport(imported: ImportedKey, owned: ReadonlySet<string> | undefined): PreparedKey {
  const { kind, owner, prefix, replace, mayTakeOver } = imported;
  if (replace && !mayTakeOver) throw adminRequired("To use `replace`");
  const problems = [...importProblems(imported), ...(owner === undefined ? [] : ownerProblems(owned, prefix))];
  if (problems.length > 0) throw invalidRequest(problems);
  return kind === undefined ? { parameters: unusedParameters } : otpKinds[kind].prepare(imported);
}

export const unknownUsername: Problem = { path: "username", reason: "is not the name of a user" };

/** Returns why an OTP key cannot be assigned to a user. */
function ownerProblems(owned: ReadonlySet<string> | undefined, prefix: string): readonly Problem[] {
  if (owned === undefined) return [unknownUsername];
  if (owned.size < maxAssignedKeys || owned.has(prefix)) return [];
  return [{ path: "username", reason: `is that of a user who has ${maxAssignedKeys} otpkeys already` }];
}
