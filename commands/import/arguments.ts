import { readArguments, usageError } from "../read-arguments.ts";
import type { LogOptions } from "./formats/personalisation-log.ts";
import { maxBatch } from "./send.ts";

const name = "npm run import-otpkeys";
const text = { type: "string" } as const;
const flag = { type: "boolean" } as const;

/** Options of every import. */
export const commonOptions = {
  url: text,
  report: text,
  "dry-run": flag,
  "token-file": text,
  batch: text,
  parallel: text,
  timeout: text,
} as const;

/** The lines of the help about `commonOptions`, and the exit codes. @param items what is imported @param parallel default */
export const commonHelp = (items: string, parallel: string): string =>
  `  --report FILE         write the result of each line, as CSV
  --dry-run             read and check the files; send nothing
  --token-file FILE     file with the bearer token; - for standard input. By default it is read from API_TOKEN
  --batch N             ${items} in one call, 1 to ${maxBatch}; ${maxBatch} by default
  --parallel N          calls at a time, 1 to 32; ${parallel} by default
  --timeout SECONDS     time limit of one call; 30 by default
  --help                show this text

The exit code is 0 if every line is imported, 1 if some are not, 2 if nothing was tried, 3 if the import stopped before
the end, 130 if it was interrupted. More in docs/import.md.`;

const parallel = "4";

const command = {
  name,
  help: `Imports OTP keys into Core from the files of key makers.

Usage: API_TOKEN=<token> npm run import-otpkeys -- --url URL [options] FILE ...
  FILE                  personalisation log or PSKC; - for standard input
  --url URL             address of the Core API, such as https://core.example.com/core
  --replace             replace the secret of an OTP key that Core has with another secret
  --digits N            6 to 8, length of HOTP codes where a log does not specify it; 6 by default
  --identifier TEXT     text that HOTP keys type before their serial number where a log does not name it, such as ubhe
  --username-column N   column of a log, from 1, that has the name of the user to whom the OTP key is assigned
  --pskc-key-file FILE  file with the pre-shared key of a PSKC, in hex or base64. By default it is read from PSKC_KEY
  --pskc-passphrase-file FILE  file with the passphrase of a PSKC. By default it is read from PSKC_PASSPHRASE
${commonHelp("OTP keys", parallel)}`,
  options: {
    ...commonOptions,
    replace: flag,
    digits: text,
    identifier: text,
    "username-column": text,
    "pskc-key-file": text,
    "pskc-passphrase-file": text,
  },
  allowPositionals: true,
} as const;

/** What every import has on its command line. */
export interface CommonArguments {
  readonly files: readonly string[];
  readonly url: string;
  readonly dryRun: boolean;
  readonly report: string | undefined;
  readonly tokenFile: string | undefined;
  readonly batch: number;
  readonly parallel: number;
  readonly timeoutMs: number;
}

/** The parsed command line of an import of OTP keys. */
export interface ImportArguments extends CommonArguments {
  readonly replace: boolean;
  readonly pskcKeyFile: string | undefined;
  readonly pskcPassphraseFile: string | undefined;
  readonly log: LogOptions;
}

/** Parses the command line. Returns undefined if it asks for help, which is printed then. Throws an error if it is wrong. */
export function importArguments(args: readonly string[]): ImportArguments | undefined {
  const parsed = readArguments(command, args);
  if (parsed === undefined) return undefined;
  const { values, positionals } = parsed;
  const digits = values.digits === undefined ? undefined : wholeNumber("--digits", values.digits, 6, 8);
  const secretFiles = [values["pskc-key-file"], values["pskc-passphrase-file"]];
  return {
    ...commonArguments(name, values, positionals, { parallel, secretFiles }),
    replace: values.replace ?? false,
    pskcKeyFile: values["pskc-key-file"],
    pskcPassphraseFile: values["pskc-passphrase-file"],
    log: {
      ...(digits !== undefined && { digits }),
      ...(values.identifier !== undefined && { identifier: values.identifier }),
      ...(values["username-column"] !== undefined && {
        usernameColumn: wholeNumber("--username-column", values["username-column"], 1, 100),
      }),
    },
  };
}

type CommonValues = { readonly [K in keyof typeof commonOptions]?: K extends "dry-run" ? boolean : string };

/** Returns what every import has on its command line. Throws an error if it is wrong. @param name of the command */
export function commonArguments(
  name: string,
  values: CommonValues,
  files: readonly string[],
  { parallel, secretFiles = [] }: { readonly parallel: string; readonly secretFiles?: readonly (string | undefined)[] },
): CommonArguments {
  const { url = "", "dry-run": dryRun = false } = values;
  if (files.length === 0) throw usageError(name, "No FILE is given.");
  if (url === "" && !dryRun) throw usageError(name, "--url is missing.");
  const inputs = [...files, values["token-file"], ...secretFiles];
  if (inputs.filter(name => name === "-").length > 1) throw new Error("Only one input can be standard input.");
  return {
    files,
    url,
    dryRun,
    report: values.report,
    tokenFile: values["token-file"],
    batch: wholeNumber("--batch", values.batch ?? String(maxBatch), 1, maxBatch),
    parallel: wholeNumber("--parallel", values.parallel ?? parallel, 1, 32),
    timeoutMs: wholeNumber("--timeout", values.timeout ?? "30", 1, 600) * 1000,
  };
}

/** Returns the number of an option. Throws if it is none, or out of its range. */
export function wholeNumber(name: string, value: string, min: number, max: number): number {
  const number = Number(value);
  if (/^\d{1,4}$/.test(value) && number >= min && number <= max) return number;
  throw new Error(`${name} must be a whole number from ${min} to ${max}.`);
}
