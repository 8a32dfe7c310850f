import { Fault } from "../../fault.ts";
import type { AuthDeps } from "../deps.ts";
import { parseNewPassword } from "../passwords/password.ts";
import type { StoredPassword } from "../passwords/password-hash.ts";

interface NewPassword {
  /** As the caller sent it. */
  readonly field: string;
  readonly username: string;
  /** What an empty one is. */
  readonly empty: "none" | "refused";
}

/**
 * A new password by the rules; undefined stands for "no password" (decision A4).
 * Throws Fault `invalid` that names the field and the rule, and nothing of the password.
 */
export async function acceptedPassword(
  text: string,
  { field, username, empty }: NewPassword,
  { rules }: Pick<AuthDeps, "rules">,
): Promise<string | undefined> {
  const parsed = await parseNewPassword(text, username, { minLength: rules.passwordMinLength, empty });
  if (parsed.ok) return parsed.value;
  throw new Fault("invalid", "The request is not valid.", { problems: [{ path: field, reason: parsed.reason }] });
}

/** As `acceptedPassword`, hashed. */
export async function newPassword(
  text: string,
  wanted: NewPassword,
  deps: AuthDeps,
): Promise<StoredPassword | undefined> {
  const password = await acceptedPassword(text, wanted, deps);
  return password === undefined ? undefined : deps.hasher.hash(password);
}
