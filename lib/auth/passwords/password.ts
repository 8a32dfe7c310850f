import { accepted, invalidRequest, type Parsed, refused } from "../../platform/fault.ts";
import { isLongerThan, isTooLongToNormalize } from "../users/username.ts";
import { comparableText, isCommonPassword } from "./common-passwords.ts";

const passwordMaxCodePoints = 1024;

interface PasswordRules {
  /** Minimum number of code points. */
  readonly minLength: number;
  /** Whether an empty password means "no password" (create, reset) or is refused (change). */
  readonly empty: "none" | "refused";
}

/**
 * Returns the form in which a password is hashed: NFC, not truncated. A password over the maximum length stays as it
 * is.
 */
export const normalPassword = (text: string): string =>
  isTooLongToNormalize(text, passwordMaxCodePoints) ? text : text.normalize("NFC");

/**
 * Parses a new password by the rules. Returns it in NFC; undefined means "no password". The reason names the rule and
 * quotes nothing of the password.
 */
export async function parseNewPassword(
  text: string,
  username: string,
  rules: PasswordRules,
): Promise<Parsed<string | undefined>> {
  if (text === "" && rules.empty === "none") return accepted(undefined);
  if (!text.isWellFormed()) return refused("must be well-formed Unicode");
  const password = normalPassword(text);
  if (isLongerThan(password, passwordMaxCodePoints))
    return refused(`must have at most ${passwordMaxCodePoints} characters`);
  if (!isLongerThan(password, rules.minLength - 1)) return refused(`must have at least ${rules.minLength} characters`);
  if (comparableText(password) === comparableText(username)) return refused("must not be the username");
  if (await isCommonPassword(password)) {
    return refused("must not be a common password, a repetition, or a run such as abcdefgh");
  }
  return accepted(password);
}

/**
 * Returns a new password as `parseNewPassword` does. Throws Fault `invalid`, which names the field and the rule.
 * @param field name of the field in the request
 */
export async function checkNewPassword(
  text: string,
  { field, username, empty }: { readonly field: string; readonly username: string } & Pick<PasswordRules, "empty">,
  { rules }: { readonly rules: { readonly passwordMinLength: number } },
): Promise<string | undefined> {
  const parsed = await parseNewPassword(text, username, { minLength: rules.passwordMinLength, empty });
  if (parsed.ok) return parsed.value;
  throw invalidRequest([{ path: field, reason: parsed.reason }]);
}
