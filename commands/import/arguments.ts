import { parseArgs } from "node:util";
import type { LogOptions } from "./formats/personalisation-log.ts";

export const usage = `Usage: npm run import-otpkeys -- --url <address of the Core API> [options] FILE ...
  FILE                  personalisation log or PSKC; - for standard input
  --url URL             as in https://core.example.com/core
  --replace             let a key take the place of another secret that Core has for its prefix
  --report FILE         write what became of each line, as CSV
  --dry-run             read and check the files; send nothing
  --digits 6|8          length of HOTP codes where a log does not say; 6 by default
  --identifier TEXT     what HOTP keys type before their serial number where a log does not say, as in ubhe
  --token-file FILE     the bearer token; - for standard input. By default it is read from API_TOKEN
  --pskc-key-file FILE  pre-shared key of a PSKC, in hex or base64. By default it is read from PSKC_KEY
  --parallel N          calls at a time, 1 to 32; 8 by default
  --timeout SECONDS     time limit of one call; 30 by default
Ends with 0: every line is in; 1: some lines are not; 2: nothing was tried; 3: stopped before the end; 130: interrupted.
More in docs/import.md.`;

/** The parsed command line. */
export interface ImportArguments {
  readonly files: readonly string[];
  readonly url: string;
  readonly replace: boolean;
  readonly dryRun: boolean;
  readonly report: string | undefined;
  readonly tokenFile: string | undefined;
  readonly pskcKeyFile: string | undefined;
  readonly parallel: number;
  readonly timeoutMs: number;
  readonly log: LogOptions;
}

/** Parses the command line. Returns undefined if it asks for help. Throws an error with the usage if it is wrong. */
export function importArguments(args: readonly string[]): ImportArguments | undefined {
  const { values, positionals: files } = parsed(args);
  if (values.help === true) return undefined;
  const { url = "", "dry-run": dryRun = false } = values;
  if (files.length === 0) throw new Error(`No FILE is given.\n${usage}`);
  if (url === "" && !dryRun) throw new Error(`--url is missing.\n${usage}`);
  const inputs = [...files, values["token-file"], values["pskc-key-file"]];
  if (inputs.filter(name => name === "-").length > 1) throw new Error("Only one thing can be standard input.");
  const digits = values.digits === undefined ? undefined : wholeNumber("--digits", values.digits, 6, 8);
  if (digits === 7) throw new Error("--digits must be 6 or 8.");
  return {
    files,
    url,
    dryRun,
    replace: values.replace ?? false,
    report: values.report,
    tokenFile: values["token-file"],
    pskcKeyFile: values["pskc-key-file"],
    parallel: wholeNumber("--parallel", values.parallel ?? "8", 1, 32),
    timeoutMs: wholeNumber("--timeout", values.timeout ?? "30", 1, 600) * 1000,
    log: {
      ...(digits !== undefined && { digits: digits === 6 ? 6 : 8 }),
      ...(values.identifier !== undefined && { identifier: values.identifier }),
    },
  };
}

function parsed(args: readonly string[]) {
  const text = { type: "string" } as const;
  const flag = { type: "boolean" } as const;
  const options = {
    url: text,
    replace: flag,
    report: text,
    "dry-run": flag,
    digits: text,
    identifier: text,
    "token-file": text,
    "pskc-key-file": text,
    parallel: text,
    timeout: text,
    help: { ...flag, short: "h" },
  } as const;
  try {
    return parseArgs({ args: [...args], options, allowPositionals: true });
  } catch (error) {
    throw new Error(`${error instanceof Error ? error.message : String(error)}\n${usage}`);
  }
}

function wholeNumber(name: string, value: string, min: number, max: number): number {
  const number = Number(value);
  if (/^\d{1,4}$/.test(value) && number >= min && number <= max) return number;
  throw new Error(`${name} must be a whole number from ${min} to ${max}.`);
}
