// Finds, shows, unlocks and disables users of the authentication server, and helps one who lost an OTP key or a password
// (A11, A12, A21, A24).
import type { Lock, paths } from "../docs/openapi/core.ts";
import { connectApi, dataOf, pageOf } from "./api.ts";
import {
  actionOf,
  exitHelp,
  pageHelp,
  pageOptions,
  printFacts,
  printJson,
  printTable,
  readPages,
  runOperatorCommand,
} from "./operator-command.ts";
import { readArguments, usageError } from "./read-arguments.ts";
import { signIn, signInHelp, signInOptions } from "./sign-in.ts";

const name = "npm run users";
const command = {
  name,
  help: `Finds and helps users of the authentication server.

Usage: [API_TOKEN=<token>] npm run users -- <action> --url URL [options]
  find                  list users, all or those that every filter matches
  show USER             show a user: OTP keys, attributes, the last sign-in, and what refuses sign-ins
  lock USER             show failed sign-ins, and until when sign-ins are refused
  unlock USER           accept sign-ins again, and forget failed ones
  disable USER          refuse every sign-in, and end every session; attributes and OTP keys stay
  enable USER           accept sign-ins of a disabled user again
  end-sessions USER     sign the user out everywhere
  temporary-code USER   disable a lost OTP key, and print a code that the user types in its place; it is shown only once
  reset USER            end the password, and print a code with which the user sets a new one; it is shown only once
USER is the username or the id.
  --prefix TEXT         find: usernames that begin with this
  --otpkey PREFIX       find: the user of this OTP key; temporary-code: the lost one of several
  --disabled            find: users who are disabled
  --imported            find: users who have not signed in since their password was imported
  --unused-since TIME   find: no sign-in since this time, such as 2031-01-31
  --uses N              temporary-code: how often the code is accepted; 1 by default
  --hours N             temporary-code: for how long; 24 by default
${pageHelp}
  --url URL             address of the Core API, such as https://core.example.com/core
  --json                print what the API answers, for programs
${signInHelp}
  --help                show this text

API_TOKEN is a static API token of Core; without it the command asks for one. ${exitHelp}`,
  options: {
    ...signInOptions,
    ...pageOptions,
    url: { type: "string" },
    json: { type: "boolean" },
    prefix: { type: "string" },
    otpkey: { type: "string" },
    disabled: { type: "boolean" },
    imported: { type: "boolean" },
    "unused-since": { type: "string" },
    uses: { type: "string" },
    hours: { type: "string" },
  },
  allowPositionals: true,
} as const;

const actions = [
  "find",
  "show",
  "lock",
  "unlock",
  "disable",
  "enable",
  "end-sessions",
  "temporary-code",
  "reset",
] as const;

await runOperatorCommand(main);

async function main(): Promise<void> {
  const parsed = readArguments(command);
  if (parsed === undefined) return;
  const { values } = parsed;
  const { action, argument: user } = actionOf({ name, actions, listing: ["find"] }, parsed.positionals);
  if (values.url === undefined) throw usageError(name, "--url is missing.");
  const core = connectApi<paths>(values.url, await signIn(values, { command: name, name: "Core" }), {
    prefix: "/core",
  });
  const params = { path: { user } };
  switch (action) {
    case "find": {
      const filters = {
        ...(values.prefix !== undefined && { $prefix: values.prefix }),
        ...(values.otpkey !== undefined && { otpkey: values.otpkey }),
        ...(values.disabled && { $enabled: false }),
        ...(values.imported && { $password: "imported" as const }),
        ...(values["unused-since"] !== undefined && { $unused_since: values["unused-since"] }),
      };
      const users = await readPages(values, page =>
        pageOf(core.GET("/core/users", { params: { query: { ...filters, ...page } } })),
      );
      if (values.json) return printJson(users);
      return printTable(
        ["ID", "NAME"],
        users.map(({ id, name }) => [id, name]),
      );
    }
    case "show": {
      const found = await dataOf(core.GET("/core/users/{user}", { params }));
      const lock = await dataOf(core.GET("/core/users/{user}/lock", { params: { path: { user: String(found.id) } } }));
      if (values.json) return printJson({ ...found, lock });
      return printFacts({
        Name: found.name,
        Id: found.id,
        State: found.enabled ? "enabled" : "disabled",
        "Last sign-in": found.last_login ?? "never",
        ...lockFacts(lock),
        Password: found.must_change ? "must be changed" : found.password && `imported, ${found.password.imported}`,
        "Code for a new password": found.code_valid_until && `until ${found.code_valid_until}`,
        "OTP keys": found.otpkeys.join(", ") || "none",
        ...Object.fromEntries(Object.entries(found.attributes).map(([key, value]) => [`Attribute ${key}`, value])),
      });
    }
    case "lock": {
      const lock = await dataOf(core.GET("/core/users/{user}/lock", { params }));
      return values.json ? printJson(lock) : printFacts(lockFacts(lock));
    }
    case "unlock":
      await dataOf(core.POST("/core/users/{user}/unlock", { params }));
      return console.error(`${user} is unlocked.`);
    case "disable":
      await dataOf(core.POST("/core/users/{user}/disable", { params }));
      return console.error(`${user} is disabled: no sign-in, and every session has ended.`);
    case "enable":
      await dataOf(core.POST("/core/users/{user}/enable", { params }));
      return console.error(`${user} is enabled.`);
    case "end-sessions":
      await dataOf(core.POST("/core/users/{user}/sessions/delete", { params }));
      return console.error(`The sessions of ${user} have ended.`);
    case "temporary-code": {
      const { otpkeys } = await dataOf(core.GET("/core/users/{user}", { params }));
      const [only, ...others] = values.otpkey === undefined ? otpkeys : otpkeys.filter(each => each === values.otpkey);
      if (only === undefined) throw new Error(`${user} has no ${values.otpkey ? "such " : ""}OTP key.`);
      if (others.length > 0)
        throw usageError(name, `${user} has several OTP keys, choose by --otpkey: ${otpkeys.join(", ")}.`);
      const issued = await dataOf(
        core.POST("/core/otpkeys/{prefix}/temporary-code", {
          params: { path: { prefix: only } },
          body: {
            uses: numberOf("uses", values.uses ?? "1"),
            valid_until: new Date(Date.now() + numberOf("hours", values.hours ?? "24") * 3_600_000).toISOString(),
          },
        }),
      );
      if (values.json) return printJson(issued);
      console.error(`OTP key ${only} is disabled. Code for ${issued.uses} uses until ${issued.valid_until}:`);
      return console.log(issued.code);
    }
    case "reset": {
      const issued = await dataOf(core.POST("/core/users/{user}/reset", { params, body: { issue_code: true } }));
      if (issued === undefined) throw new Error("Core has not issued a code.");
      if (values.json) return printJson(issued);
      console.error(`The password of ${user} has ended. Code for a new one, valid until ${issued.valid_until}:`);
      console.log(issued.code);
    }
  }
}

function lockFacts({ failures, locked_until, running_attempts, last_refusal }: Lock) {
  return {
    "Last refusal": last_refusal && `${last_refusal.at} ${last_refusal.reason}`,
    "Failed sign-ins": failures,
    "Locked until": locked_until ?? "not locked",
    "Running sign-ins": running_attempts || undefined,
  };
}

function numberOf(option: string, text: string): number {
  const number = Number(text);
  if (Number.isFinite(number) && number > 0) return number;
  throw usageError(name, `--${option} must be a number greater than 0.`);
}
