import { accepted, invalidRequest, type Parsed, refused } from "../../platform/fault.ts";
import { isLongerThan, isTooLongToNormalize } from "../users/username.ts";
import { comparableText, isCommonPassword } from "./common-passwords.ts";

const passwordMaxCodePoints = 1024;

/**
 * Returns the form in which a password is hashed: NFC, not truncated. A password over the maximum length stays as it
 * is.
 */
export const normalPassword = (text: string): string =>
  isTooLongToNormalize(text, passwordMaxCodePoints) ? text : text.normalize("NFC");

/**
 * Parses a new password by the rules (A4). Returns it in NFC. The reason names the rule and quotes nothing of the
 * password. An empty text is too short: a caller for whom it means "no password" does not parse it.
 * @param minLength minimum number of code points
 */
export async function parseNewPassword(text: string, username: string, minLength: number): Promise<Parsed<string>> {
  if (!text.isWellFormed()) return refused("must be well-formed Unicode");
  const password = normalPassword(text);
  if (isLongerThan(password, passwordMaxCodePoints))
    return refused(`must have at most ${passwordMaxCodePoints} characters`);
  if (!isLongerThan(password, minLength - 1)) return refused(`must have at least ${minLength} characters`);
  if (comparableText(password) === comparableText(username)) return refused("must not be the username");
  if (await isCommonPassword(password)) {
    return refused("must not be a common password, a repetition, or a run such as abcdefgh");
  }
  return accepted(password);
}

/**
 * Returns a new password as `parseNewPassword` does. Throws Fault `invalid`, which names the field of the request and
 * the rule.
 */
export async function checkNewPassword(
  text: string,
  field: string,
  username: string,
  { rules }: { readonly rules: { readonly passwordMinLength: number } },
): Promise<string> {
  const parsed = await parseNewPassword(text, username, rules.passwordMinLength);
  if (parsed.ok) return parsed.value;
  throw invalidRequest([{ path: field, reason: parsed.reason }]);
}
