import { Fault } from "../fault.ts";
import type { AuthDeps } from "./deps.ts";
import { parseNewPassword } from "./password.ts";
import type { StoredPassword } from "./password-hash.ts";

/**
 * A new password by the rules, hashed; undefined stands for "no password" (decision A4).
 * Throws Fault `invalid` that names the field and the rule, and nothing of the password.
 * @param field as the caller sent it
 */
export async function newPassword(
  text: string,
  { field, username, empty }: { field: string; username: string; empty: "none" | "refused" },
  { hasher, rules }: AuthDeps,
): Promise<StoredPassword | undefined> {
  const parsed = await parseNewPassword(text, username, { minLength: rules.passwordMinLength, empty });
  if (!parsed.ok) {
    throw new Fault("invalid", "The request is not valid.", { problems: [{ path: field, reason: parsed.reason }] });
  }
  return parsed.value === undefined ? undefined : hasher.hash(parsed.value);
}
