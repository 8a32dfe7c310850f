import type { Client } from "openapi-fetch";
import type { Lock, OtpKey, paths } from "../../docs/openapi/core.ts";
import { dataOf } from "../api.ts";
import { printFacts, printJson } from "../operator-command.ts";

/** Prints a user with the state of each OTP key and what refuses sign-ins (A11, A12). Throws `Refused`. */
export async function showUser(core: Client<paths>, user: string, json: boolean): Promise<void> {
  const found = await dataOf(core.GET("/core/users/{user}", { params: { path: { user } } }));
  const lock = await dataOf(core.GET("/core/users/{user}/lock", { params: { path: { user: String(found.id) } } }));
  if (json) return printJson({ ...found, lock });
  const keys = await Promise.all(
    found.otpkeys.map(prefix => dataOf(core.GET("/core/otpkeys/{prefix}", { params: { path: { prefix } } }))),
  );
  printFacts({
    Name: found.name,
    Id: found.id,
    State: found.enabled ? "enabled" : "disabled",
    "Last sign-in": found.last_login ?? "never",
    ...lockFacts(lock),
    Password: found.must_change ? "must be changed" : found.password && `imported, ${found.password.imported}`,
    "Code for a new password": found.code_valid_until && `until ${found.code_valid_until}`,
    ...(keys.length === 0 && { "OTP keys": "none" }),
    ...Object.fromEntries(keys.map(key => [`OTP key ${key.prefix}`, stateOf(key)])),
    ...Object.fromEntries(Object.entries(found.attributes).map(([key, value]) => [`Attribute ${key}`, value])),
  });
}

/** Prints failed sign-ins of a user, and until when sign-ins are refused. Throws `Refused`, also if there is no such user. */
export async function showLock(core: Client<paths>, user: string, json: boolean): Promise<void> {
  const params = { path: { user: await idOf(core, user) } };
  const lock = await dataOf(core.GET("/core/users/{user}/lock", { params }));
  return json ? printJson(lock) : printFacts(lockFacts(lock));
}

/** Ends the lock of a user. Throws `Refused`, also if there is no such user: Core unlocks any name. */
export async function unlock(core: Client<paths>, user: string): Promise<void> {
  await dataOf(core.POST("/core/users/{user}/unlock", { params: { path: { user: await idOf(core, user) } } }));
}

async function idOf(core: Client<paths>, user: string): Promise<string> {
  return String((await dataOf(core.GET("/core/users/{user}", { params: { path: { user } } }))).id);
}

function lockFacts({ failures, locked_until, running_attempts, last_refusal }: Lock) {
  const help = '(docs/operate.md, "A user cannot sign in")';
  const last = last_refusal && [last_refusal.at, last_refusal.reason, last_refusal.otp_outcome, last_refusal.otpkey];
  return {
    "Last refusal": last && [...last, help].filter(Boolean).join(" "),
    "Failed sign-ins": failures,
    "Locked until": locked_until ?? "not locked",
    "Running sign-ins": running_attempts || undefined,
  };
}

function stateOf({ enabled, stopped, stopped_since, last_used, valid_from, valid_until, temporary_code }: OtpKey) {
  return [
    stopped ? `stopped since ${stopped_since} by wrong OTPs` : enabled ? "enabled" : "disabled",
    last_used && `last used ${last_used}`,
    valid_from && `valid from ${valid_from}`,
    valid_until && `valid until ${valid_until}`,
    temporary_code && `temporary code with ${temporary_code.uses_left} uses left until ${temporary_code.valid_until}`,
  ]
    .filter(Boolean)
    .join(", ");
}
