import { readArguments, usageError } from "../../read-arguments.ts";
import { type CommonArguments, commonArguments, commonOptions } from "../arguments.ts";
import { isField, type Mapping } from "./read-users.ts";

const name = "npm run import-users";
const command = {
  name,
  help: `Imports users of another server into Core, with passwords or hashes of them, attributes and OTP keys.

Usage: API_TOKEN=<token> npm run import-users -- --url URL [options] FILE ...
  FILE                  CSV with a header, or an object in JSON on each line; - for standard input; or a folder with
                        the tables of YubiAuth as CSV: users.csv, yubikeys.csv, user_yubikeys.csv, attributes.csv
  --url URL             address of the Core API, such as https://core.example.com/core
  --map FIELD=COLUMN    column of a field, if it has another name; can be repeated. The fields are username, password,
                        password_hash, otpkeys (prefixes, separated by blanks), enabled and attributes.<key>
  --report FILE         write the result of each line, as CSV
  --dry-run             read and check the files; send nothing
  --token-file FILE     file with the bearer token; - for standard input. By default it is read from API_TOKEN
  --batch N             users in one call, 1 to 100; 100 by default
  --parallel N          calls at a time, 1 to 32; 2 by default
  --timeout SECONDS     time limit of one call; 30 by default
  --help                show this text

The exit code is 0 if every line is imported, 1 if some are not, 2 if nothing was tried, 3 if the import stopped before
the end, 130 if it was interrupted. More in docs/import.md.`,
  options: { ...commonOptions, map: { type: "string", multiple: true } },
  allowPositionals: true,
} as const;

/** The parsed command line of an import of users. */
export interface UserImportArguments extends CommonArguments {
  readonly mapping: Mapping;
}

/** Parses the command line. Returns undefined if it asks for help, which is printed then. Throws an error if it is wrong. */
export function userImportArguments(args: readonly string[]): UserImportArguments | undefined {
  const parsed = readArguments(command, args);
  if (parsed === undefined) return undefined;
  const { values, positionals } = parsed;
  const pairs = (values.map ?? []).map(text => {
    const [, field = "", column = ""] = /^([^=]*)=(.+)$/s.exec(text) ?? [];
    if (!isField(field)) throw usageError(name, `--map ${text}: ${field === "" ? "FIELD=COLUMN" : field} is no field.`);
    return [field, column] as const;
  });
  return { ...commonArguments(name, values, positionals, { parallel: "2" }), mapping: new Map(pairs) };
}
