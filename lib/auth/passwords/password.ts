import { accepted, type Parsed, refused } from "../model/parsed.ts";
import { longerThan, tooLongToNormalize } from "../model/username.ts";
import { isCommonPassword } from "./common-passwords.ts";
import { comparableText } from "./comparable-text.ts";

const passwordMaxCodePoints = 1024;

export interface PasswordRules {
  /** Least number of code points. */
  readonly minLength: number;
  /** Whether an empty one stands for "no password" (create, reset) or is refused (change) (decisions A4, A16). */
  readonly empty: "none" | "refused";
}

/** The form in which a password is hashed: NFC, whole (decision A4). One that is too long to be anybody's is left as it is. */
export const normalPassword = (text: string): string =>
  tooLongToNormalize(text, passwordMaxCodePoints) ? text : text.normalize("NFC");

/**
 * A new password by the rules of decision A4, in NFC; undefined stands for "no password". The reason names the rule and
 * nothing of the password.
 */
export async function parseNewPassword(
  text: string,
  username: string,
  rules: PasswordRules,
): Promise<Parsed<string | undefined>> {
  if (text === "" && rules.empty === "none") return accepted(undefined);
  if (!text.isWellFormed()) return refused("must be well-formed Unicode");
  const password = normalPassword(text);
  if (longerThan(password, passwordMaxCodePoints))
    return refused(`must have at most ${passwordMaxCodePoints} characters`);
  if (!longerThan(password, rules.minLength - 1)) return refused(`must have at least ${rules.minLength} characters`);
  if (comparableText(password) === comparableText(username)) return refused("must not be the username");
  if (await isCommonPassword(password)) {
    return refused("must not be a common password, a repetition, or a run such as abcdefgh");
  }
  return accepted(password);
}
