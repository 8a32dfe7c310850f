import { newName, newPassword } from "./test-auth.ts";

/**
 * Returns the fields that a POST of the Core API needs, by the end of its path.
 * @param given the prefix of an OTP key, and a time at which its OTPs are accepted
 */
export function fieldsOf(
  template: string,
  { prefix, later }: { readonly prefix: string; readonly later: string },
): Readonly<Record<string, string>> {
  const fields: Readonly<Record<string, Readonly<Record<string, string>>>> = {
    users: { username: newName(), password: newPassword() },
    rename: { username: newName() },
    reset: { password: newPassword() },
    otpkeys: { otpkey: prefix },
    attributes: { key: "team", value: "red" },
    validity: { valid_until: later },
    "temporary-code": { valid_until: later },
    "api-tokens": { name: "Help desk" },
  };
  if (template === "/otpkeys") return { prefix };
  return fields[template.split("/").at(-1) ?? ""] ?? {};
}
