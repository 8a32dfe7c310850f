// Finds, shows, unlocks and disables users of the authentication server, and helps one who lost an OTP key or a password
// (A11, A12, A21, A24).
import type { paths } from "../docs/openapi/core.ts";
import { dataOf, pageOf } from "./api.ts";
import {
  exitHelp,
  operatorHelp,
  pageHelp,
  pageOptions,
  printJson,
  printTable,
  readPages,
  runOperatorCommand,
} from "./operator-command.ts";
import { disableOtpKey, enableOtpKey, issueTemporaryCode } from "./users/otpkey.ts";
import { showLock, showUser, unlock } from "./users/show-user.ts";

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
  enable-otpkey USER    accept the OTPs of an OTP key again, and end its temporary code
  disable-otpkey USER   accept no OTP of an OTP key, and end the sessions that were opened with it
  reset USER            end the password, and print a code with which the user sets a new one; it is shown only once;
                        needs the role admin
USER is the username or the id.
  --prefix TEXT         find: usernames that begin with this
  --otpkey PREFIX       find: the user of this OTP key; actions on an OTP key: which one of several
  --disabled            find: users who are disabled
  --imported            find: users who have not signed in since their password was imported
  --unused-since TIME   find: no sign-in since this time, such as 2031-01-31
  --uses N              temporary-code: how often the code is accepted; 1 by default
  --hours N             temporary-code: for how long, at most 744; 24 by default
${pageHelp}
  --url URL             address of the Core API, such as https://core.example.com/core
  --json                print what the API answers, for programs
${operatorHelp}

API_TOKEN is a static API token of Core; without it the command asks for one.
${exitHelp}`,
  options: {
    ...pageOptions,
    prefix: { type: "string" },
    otpkey: { type: "string" },
    disabled: { type: "boolean" },
    imported: { type: "boolean" },
    "unused-since": { type: "string" },
    uses: { type: "string" },
    hours: { type: "string" },
  },
  actions: {
    find: [0, 0, "top", "page", "all", "prefix", "otpkey", "disabled", "imported", "unused-since"],
    show: [1, 1],
    lock: [1, 1],
    unlock: [1, 1],
    disable: [1, 1],
    enable: [1, 1],
    "end-sessions": [1, 1],
    "temporary-code": [1, 1, "otpkey", "uses", "hours"],
    "enable-otpkey": [1, 1, "otpkey"],
    "disable-otpkey": [1, 1, "otpkey"],
    reset: [1, 1],
  },
  fields: { $prefix: "prefix", $unused_since: "unused-since", uses: "uses", valid_until: "hours" },
} as const;

await runOperatorCommand(command, async ({ action, argument: user, values, connect }) => {
  const core = connect<paths>({ prefix: "/core" });
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
    case "show":
      return showUser(core, user, values.json ?? false);
    case "lock":
      return showLock(core, user, values.json ?? false);
    case "unlock":
      await unlock(core, user);
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
    case "temporary-code":
      return issueTemporaryCode(core, user, name, values);
    case "enable-otpkey":
      return enableOtpKey(core, user, name, values.otpkey);
    case "disable-otpkey":
      return disableOtpKey(core, user, name, values.otpkey);
    case "reset": {
      const issued = await dataOf(core.POST("/core/users/{user}/reset", { params, body: { issue_code: true } }));
      if (issued === undefined) throw new Error("Core has not issued a code.");
      if (values.json) return printJson(issued);
      console.error(`The password of ${user} has ended. Code for a new one, valid until ${issued.valid_until}:`);
      console.log(issued.code);
    }
  }
});
