import { invalidRequest } from "../../platform/fault.ts";
import type { AuthDeps } from "../deps.ts";
import { parseNewPassword } from "../passwords/password.ts";
import type { StoredPassword } from "../passwords/password-hash.ts";

interface NewPassword {
  /** Name of the field in the request. */
  readonly field: string;
  readonly username: string;
  /** Whether an empty password means "no password" or is refused. */
  readonly empty: "none" | "refused";
}

/**
 * Checks a new password by the rules (A4). Returns it in NFC; undefined means "no password".
 * Throws Fault `invalid`, which names the field and the rule and quotes nothing of the password.
 */
export async function checkNewPassword(
  text: string,
  { field, username, empty }: NewPassword,
  { rules }: Pick<AuthDeps, "rules">,
): Promise<string | undefined> {
  const parsed = await parseNewPassword(text, username, { minLength: rules.passwordMinLength, empty });
  if (parsed.ok) return parsed.value;
  throw invalidRequest([{ path: field, reason: parsed.reason }]);
}

/** Checks a new password as `checkNewPassword` does, and returns its hash. */
export async function hashNewPassword(
  text: string,
  { userId, ...options }: NewPassword & { readonly userId: number },
  deps: AuthDeps,
): Promise<StoredPassword | undefined> {
  const password = await checkNewPassword(text, options, deps);
  return password === undefined ? undefined : deps.hasher.hash(password, userId);
}
