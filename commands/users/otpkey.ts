import type { Client } from "openapi-fetch";
import type { paths } from "../../docs/openapi/core.ts";
import { dataOf } from "../api.ts";
import { MissingEntry, printJson } from "../operator-command.ts";
import { usageError } from "../read-arguments.ts";

interface Given {
  readonly otpkey?: string;
  readonly uses?: string;
  readonly hours?: string;
  readonly json?: boolean;
}

/** How long a temporary code may be valid (A21). */
const maxHours = 31 * 24;

/** Issues a temporary code in place of a lost OTP key, and prints it (A21). Throws `Refused`. */
export async function issueTemporaryCode(
  core: Client<paths>,
  user: string,
  command: string,
  { otpkey, uses = "1", hours = "24", json = false }: Given,
): Promise<void> {
  const count = numberOf(command, "uses", uses);
  const validMs = numberOf(command, "hours", hours, maxHours) * 3_600_000;
  const prefix = await prefixOf(core, user, command, otpkey);
  const body = { uses: count, valid_until: new Date(Date.now() + validMs).toISOString() };
  const issued = await dataOf(
    core.POST("/core/otpkeys/{prefix}/temporary-code", { params: { path: { prefix } }, body }),
  );
  if (json) return printJson(issued);
  const times = issued.uses === 1 ? "1 use" : `${issued.uses} uses`;
  console.error(`OTP key ${prefix} is disabled. Code for ${times} until ${issued.valid_until}:`);
  console.log(issued.code);
}

/** Enables an OTP key, which ends its temporary code. Throws `Refused`. */
export async function enableOtpKey(core: Client<paths>, user: string, command: string, otpkey?: string): Promise<void> {
  const prefix = await prefixOf(core, user, command, otpkey);
  await dataOf(core.POST("/core/otpkeys/{prefix}/enable", { params: { path: { prefix } } }));
  console.error(`OTP key ${prefix} is enabled. A temporary code is no longer accepted.`);
}

/** Disables a lost OTP key, and ends the sessions that were opened with it. Throws `Refused`. */
export async function disableOtpKey(
  core: Client<paths>,
  user: string,
  command: string,
  otpkey?: string,
): Promise<void> {
  const prefix = await prefixOf(core, user, command, otpkey);
  const body = { end_sessions: true };
  await dataOf(core.POST("/core/otpkeys/{prefix}/disable", { params: { path: { prefix } }, body }));
  console.error(`OTP key ${prefix} is disabled, and the sessions that were opened with it have ended.`);
}

/** Returns the prefix of the user's only OTP key, or of the chosen one. Throws `MissingEntry`. */
async function prefixOf(core: Client<paths>, user: string, command: string, otpkey?: string): Promise<string> {
  const { otpkeys } = await dataOf(core.GET("/core/users/{user}", { params: { path: { user } } }));
  const [only, ...others] = otpkey === undefined ? otpkeys : otpkeys.filter(each => each === otpkey);
  if (only === undefined) throw new MissingEntry(`${user} has no ${otpkey ? "such " : ""}OTP key.`);
  if (others.length > 0)
    throw usageError(command, `${user} has several OTP keys, choose by --otpkey: ${otpkeys.join(", ")}.`);
  return only;
}

function numberOf(command: string, option: string, text: string, most = Number.MAX_SAFE_INTEGER): number {
  const number = Number(text);
  if (number > 0 && number <= most) return number;
  const limit = most === Number.MAX_SAFE_INTEGER ? "" : `, at most ${most}`;
  throw usageError(command, `--${option} must be a number greater than 0${limit}.`);
}
