import * as z from "zod";
import { totpAlgorithms } from "../../../lib/auth/otpkeys/kinds/contract.ts";
import { draftProblems } from "../../../lib/auth/otpkeys/kinds/draft-problems.ts";
import { base32ToBytes } from "../../../lib/auth/otpkeys/kinds/encodings.ts";
import { otpKindNames, otpKinds } from "../../../lib/auth/otpkeys/kinds/kinds.ts";
import type { ImportedKey } from "../../../lib/auth/otpkeys/merge-import.ts";
import { validityProblems } from "../../../lib/auth/otpkeys/otpkey-access.ts";
import { type Caller, hasRole } from "../../../lib/platform/caller.ts";
import type { Problem } from "../../../lib/platform/fault.ts";
import {
  optionalFlag,
  optionalInput,
  prefixField,
  signedNumber,
  toValidity,
  usernameField,
  validityFields,
  wholeNumberInput,
} from "../inputs.ts";

const hex = z.lazy(() =>
  z
    .string()
    .regex(/^([0-9A-Fa-f]{2})+$/, { error: "must be in hex" })
    .transform(text => new Uint8Array(Buffer.from(text, "hex"))),
);
/** More than the longest secret needs in any notation. */
const base32MaxLength = 400;

const base32 = z.lazy(() =>
  z
    .string()
    .max(base32MaxLength)
    .transform((text, context) => {
      const bytes = base32ToBytes(text);
      if (bytes !== undefined) return bytes;
      context.addIssue({ code: "custom", message: "must be in Base32" });
      return z.NEVER;
    }),
);

const fields = () =>
  z.object({
    prefix: prefixField.describe("The prefix of the otpkey."),
    kind: optionalInput(z.enum(otpKindNames)).describe("Kind of the otpkey. Absent: an otpkey without a secret."),
    secret: optionalInput(hex).describe("Secret in hex."),
    secret_base32: optionalInput(base32).describe("Secret of an OATH kind in Base32, instead of `secret`."),
    private_id: optionalInput(hex).describe("Private id of kind `yubico` in hex."),
    digits: optionalInput(wholeNumberInput({ enum: [6, 7, 8] })).describe(
      "Length of the codes of an OATH kind: 6 (default), 7 or 8.",
    ),
    period: optionalInput(wholeNumberInput({ enum: [30, 60] })).describe(
      "Length of a time step of kind `totp`: 30 (default) or 60 seconds.",
    ),
    algorithm: optionalInput(z.enum(totpAlgorithms)).describe("Hash function of kind `totp`; default: `SHA1`."),
    counter: optionalInput(wholeNumberInput({ minimum: 0 })).describe("Smallest counter that is accepted; default: 0."),
    drift: optionalInput(signedNumber).describe(
      "Number of time steps by which the clock of a `totp` otpkey is ahead, negative if it is behind; default: 0.",
    ),
    ...validityFields(),
    username: optionalInput(usernameField).describe("Name of an existing user to whom the otpkey is assigned."),
    replace: optionalFlag(
      "Whether to replace another secret, or to set counter and drift of the same one; default: false.",
    ),
  });

/** The id of the schema of an OTP key to import. */
export const importFieldsId = "OtpKeyImport";

/**
 * An OTP key to import. Checks which fields are allowed together, and what the kind allows. Fields that cannot be
 * parsed are left out of these checks, so that all problems are reported together.
 */
export const importFields = z.lazy(() =>
  fields()
    .superRefine(
      (given, context) => {
        const isRefused = (name: string) => context.issues.some(({ path }) => path?.[0] === name);
        const readable = Object.fromEntries(Object.entries(given).filter(([name]) => !isRefused(name)));
        for (const { path, reason } of [...combinationProblems(given), ...draftProblemsOf(readable)]) {
          // Both fields are the secret, which is then not missing.
          const isKnown = isRefused(path) || (path === "secret" && isRefused("secret_base32"));
          if (!isKnown) context.addIssue({ code: "custom", path: [path], message: reason });
        }
      },
      { when: ({ value }) => typeof value === "object" && value !== null },
    )
    .meta({ id: importFieldsId }),
);

type ImportFields = z.output<ReturnType<typeof fields>>;

/** Returns the problems of fields that are not allowed together, or without another one. */
function combinationProblems(given: ImportFields): readonly Problem[] {
  const { prefix, valid_from, valid_until, username, kind, ...ofKind } = given;
  const problems: Problem[] = [];
  const isOfKind = Object.values(ofKind).some(value => value !== undefined);
  if (kind === undefined && isOfKind) problems.push({ path: "kind", reason: "is required" });
  if (given.secret_base32 === undefined) return problems;
  const path = "secret_base32";
  if (given.secret !== undefined) problems.push({ path, reason: "must not be given together with secret" });
  if (kind === "yubico" || kind === "remote") problems.push({ path, reason: "is not for this kind of key" });
  return problems;
}

/** Returns the problems by the rules of the kind, and of the validity. */
function draftProblemsOf(given: Partial<ImportFields>): readonly Problem[] {
  const { kind, validity, ...draft } = toDraft(given);
  const ofDraft = kind === undefined ? [] : draftProblems(draft, otpKinds[kind].rules);
  return [
    ...ofDraft.map(({ field, reason }) => ({ path: field === "privateId" ? "private_id" : field, reason })),
    ...validityProblems(validity),
  ];
}

/** Returns the part of an import that can be checked without the stored OTP key. */
function toDraft(given: Partial<ImportFields>) {
  const { kind, secret = given.secret_base32, private_id: privateId } = given;
  const { digits, counter, period, algorithm, drift } = given;
  return { kind, secret, privateId, digits, counter, period, algorithm, drift, validity: toValidity(given) };
}

/** Returns the OTP key that a caller imports. */
export function toImportedKey(given: ImportFields, caller: Caller): ImportedKey {
  const { prefix, replace = false, username } = given;
  const owner = username && ({ by: "name", folded: username.folded } as const);
  return { ...toDraft(given), prefix, replace, owner, mayTakeOver: hasRole(caller, "admin") };
}
