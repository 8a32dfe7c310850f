import { stat } from "node:fs/promises";
import { foldUsername } from "../../lib/auth/users/username.ts";
import type { ImportKind } from "./import-command.ts";
import { readTexts } from "./inputs.ts";
import { type Line, linesOf, withoutDuplicates } from "./lines.ts";
import { sendUsers } from "./send.ts";
import { type UserImportArguments, userImportArguments } from "./users/arguments.ts";
import { bytesOf, type ImportUser } from "./users/imported-user.ts";
import { readUsers } from "./users/read-users.ts";
import { readYubiAuth } from "./users/yubiauth.ts";

/** The import of users of another server (A25). */
export const userImport: ImportKind<UserImportArguments, ImportUser> = {
  noun: "user",
  parseArguments: userImportArguments,
  readLines: async ({ files, mapping }, _, note) => {
    // Not spread: a file can have more lines than a call can have arguments.
    const lines: (readonly Line<ImportUser>[])[] = [];
    for (const file of files) {
      const isFolder = file !== "-" && (await stat(file).catch(() => undefined))?.isDirectory();
      if (isFolder) lines.push(await readYubiAuth(file));
      else
        for (const { name, text } of await readTexts([file]))
          lines.push(linesOf(name, readUsers(name, text, mapping, note), "user"));
    }
    return withoutDuplicates(lines.flat(), ({ username }) => foldUsername(username.trim()), "username", "first");
  },
  send: (users, _, core) => sendUsers(users, core),
  bytesOf,
  columns: { username: ({ username }) => username },
};
