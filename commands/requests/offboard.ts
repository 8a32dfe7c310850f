import type { Client } from "openapi-fetch";
import type { paths } from "../../docs/openapi/connector.ts";
import { omitUndefined } from "../../lib/platform/collections.ts";
import { dataOf } from "../api.ts";
import { printJson, printTable } from "../operator-command.ts";
import { usageError } from "../read-arguments.ts";

interface Leaver {
  readonly user?: string;
  readonly idp?: string;
  readonly email?: string;
  readonly "dry-run"?: boolean;
  readonly json?: boolean;
}

/**
 * Ends the credentials of a person who leaves, and prints what was done about each (C23). Sets exit code
 * 1 while something is left, 3 if no credential is the person's.
 */
export async function offboard(connector: Client<paths>, command: string, given: Leaver): Promise<void> {
  const { user, idp, email, "dry-run": dryRun = false, json = false } = given;
  if ((user === undefined) === (email === undefined))
    throw usageError(command, "offboard needs --user or --email, not both.");
  const body = omitUndefined({ user_id: user, idp_id: idp, email, dry_run: dryRun });
  const { data } = await dataOf(connector.POST("/v2/people/offboard", { body }));
  const isUnknown = data.is_complete && data.credentials.length === 0;
  if (isUnknown) process.exitCode = 3;
  else if (!data.is_complete && !dryRun) process.exitCode = 1;
  if (json) return printJson(data);
  if (isUnknown)
    return console.error("Nothing was found: no credential was ordered for this name. Check how it is written.");
  printTable(
    ["REQUEST", "KEY", "#", "SERIAL", "USER", "IDP", "STATE", dryRun ? "WOULD" : "DONE", "PROBLEM"],
    data.credentials.map(each => [
      each.credential_request_id,
      each.key_id,
      each.credential,
      each.serial_number,
      each.user_id,
      each.idp_id,
      each.state,
      each.action === "none" ? undefined : each.action,
      each.problem ?? each.revocation?.error_message,
    ]),
  );
  if (dryRun) console.error("Nothing was changed.");
  else if (data.is_complete) console.error("Complete: none of these credentials can be used any more.");
  else console.error("Something is left, or a job continues with it: run the same command again later.");
}
