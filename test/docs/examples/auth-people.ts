import type { AuthHost } from "../../support/auth/host.ts";
import { hotpKey, type SoftwareKey } from "../../support/auth/software-key.ts";

/** Makes a user, with a key where one is wanted. */
export async function person(
  { core }: AuthHost,
  { name, password, withKey = false }: { name: string; password: string; withKey?: boolean },
): Promise<{ readonly name: string; readonly password: string; nextOtp(): string; readonly key: SoftwareKey }> {
  const key = hotpKey();
  const made = [await core("POST", "/users", { username: name, password })];
  if (withKey) {
    made.push(await core("POST", "/otpkeys", key.fields));
    made.push(await core("POST", `/users/${encodeURIComponent(name)}/otpkeys`, { otpkey: key.prefix }));
  }
  if (made.some(({ status }) => status >= 300)) throw new Error(`not made: ${JSON.stringify(made)}`);
  let counter = 0;
  return { name, password, key, nextOtp: () => key.otp(counter++) };
}
