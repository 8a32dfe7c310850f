import { readArguments, usageError } from "../../read-arguments.ts";
import { type CommonArguments, commonArguments, commonHelp, commonOptions } from "../arguments.ts";
import { isField, type Mapping } from "./read-users.ts";

const name = "npm run import-users";
const parallel = "2";

const command = {
  name,
  help: `Imports users of another server into Core, with passwords or hashes of them, attributes and OTP keys.

Usage: API_TOKEN=<token> npm run import-users -- --url URL [options] FILE ...
  FILE                  CSV with a header, or an object in JSON on each line; - for standard input; or a folder with
                        the tables of YubiAuth as CSV: users.csv, yubikeys.csv, user_yubikeys.csv, attributes.csv
  --url URL             address of the Core API, such as https://core.example.com/core
  --map FIELD=COLUMN    column of a field, if it has another name; can be repeated. The fields are username, password,
                        password_hash, otpkeys (prefixes, separated by blanks), enabled and attributes.<key>
${commonHelp("users", parallel)}`,
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
  return { ...commonArguments(name, values, positionals, { parallel }), mapping: new Map(pairs) };
}
