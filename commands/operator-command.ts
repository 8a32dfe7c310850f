import type { ParseArgsOptionsConfig } from "node:util";
import type { Client } from "openapi-fetch";
import { connectApi, Refused } from "./api.ts";
import { plain } from "./import/screen.ts";
import { NoResponse } from "./no-response.ts";
import { readArguments, UsageError, usageError } from "./read-arguments.ts";
import { signInHelp, signInOptions, signInPerson, staticToken } from "./sign-in.ts";

/** The last lines of the help of a command for operators. */
export const operatorHelp = `${signInHelp}
  --help                show this text`;

/** Exit codes of the commands for operators. */
export const exitHelp = `The exit code is 0 if it is done, 1 if the API refuses or is not responding, 2 if the command is called wrongly,
3 if there is no such entry.`;

/** There is no such entry. */
export class MissingEntry extends Error {
  override readonly name = "MissingEntry";
}

const operatorOptions = { ...signInOptions, url: { type: "string" }, json: { type: "boolean" } } as const;

interface OperatorCommand<T extends ParseArgsOptionsConfig, A extends string> {
  /** What a user types, such as `npm run users`. */
  readonly name: string;
  readonly help: string;
  /** Other options than `--url`, `--json`, `--help` and those of the sign-in. */
  readonly options: T;
  /** The actions: how many arguments each needs at least, and takes at most, and those of `options` that it has. */
  readonly actions: Readonly<Record<A, readonly [least: number, most: number, ...options: (keyof T & string)[]]>>;
  /** The option of each field of the API, so that a refusal names the option that the operator typed. */
  readonly fields: Readonly<Record<string, keyof T & string>>;
}

type Values<T extends ParseArgsOptionsConfig> = NonNullable<
  ReturnType<typeof readArguments<T & typeof operatorOptions>>
>["values"];

/** A call of the command: its parsed arguments, and the client of the API. */
interface Invocation<T extends ParseArgsOptionsConfig, A extends string> {
  readonly action: A;
  /** The first argument; empty if there is none. */
  readonly argument: string;
  readonly args: readonly string[];
  readonly values: Values<T> & { readonly url: string };
  /** Returns a client with the operator's token. */
  readonly connect: <Paths extends {}>(options?: Parameters<typeof connectApi>[2]) => Client<Paths>;
}

/**
 * Runs a command for operators: reads its arguments, signs in, and prints why it failed. Sets the exit code of `exitHelp`, if the command
 * does not set one.
 */
export async function runOperatorCommand<const T extends ParseArgsOptionsConfig, A extends string>(
  command: OperatorCommand<T, A>,
  run: (invocation: Invocation<T, A>) => Promise<void>,
): Promise<void> {
  const { name, help, actions, fields } = command;
  // A reader such as `head` may close the pipe early.
  process.stdout.on("error", () => process.exit());
  try {
    const options = { ...operatorOptions, ...command.options };
    const parsed = readArguments({ name, help, options, allowPositionals: true });
    if (parsed === undefined) return;
    const common: Values<typeof operatorOptions> = parsed.values;
    const [action, ...args] = actionOf({ name, actions }, parsed.positionals);
    const [, , ...own]: readonly unknown[] = actions[action];
    // An option that is dropped could change what is done: `revoke --dry-run` would revoke.
    for (const option of Object.keys(parsed.values))
      if (option in command.options && !own.includes(option))
        throw usageError(name, `--${option} is not an option of ${action}.`);
    const { url } = common;
    if (url === undefined) throw usageError(name, "--url is missing.");
    const token = (await signInPerson(common, name)) ?? (await staticToken("API_TOKEN", url, name));
    const [argument = ""] = args;
    await run({
      action,
      argument,
      args,
      values: { ...(parsed.values as Values<T>), url },
      connect: more => connectApi(url, token, more),
    });
  } catch (error) {
    const advice = error instanceof NoResponse ? error.advice : "";
    const text = plain(error instanceof Error ? error.message + advice : String(error));
    console.error(error instanceof Refused && error.status === 400 ? withOptions(text, fields) : text);
    const isMissing = error instanceof MissingEntry || (error instanceof Refused && error.status === 404);
    process.exitCode = error instanceof UsageError ? 2 : isMissing ? 3 : 1;
  }
}

/** Returns the action and its arguments. Throws if one is missing or superfluous. */
function actionOf<A extends string>(
  { name, actions }: Pick<OperatorCommand<ParseArgsOptionsConfig, A>, "name" | "actions">,
  [word, ...args]: readonly string[],
): readonly [A, ...string[]] {
  const names = Object.keys(actions) as A[];
  const action = names.find(each => each === word);
  if (action === undefined) throw usageError(name, `The action must be one of ${names.join(", ")}.`);
  const [least, most] = actions[action];
  const wanted =
    most === 0 ? "has options only" : most === 1 ? "needs one argument" : `needs ${least} to ${most} arguments`;
  if (args.length < least || args.length > most || args.includes("")) throw usageError(name, `${action} ${wanted}.`);
  return [action, ...args];
}

/** Names the options in the sentences of a refusal, which begin with the field of the API. */
const withOptions = (text: string, fields: Readonly<Record<string, string>>): string =>
  text.replaceAll(/(^|[.;] )(\$?\w+)(?= )/g, (whole, before: string, field: string) => {
    const option = new Map(Object.entries({ $top: "top", $skiptoken: "page", ...fields })).get(field);
    return option === undefined ? whole : `${before}--${option}`;
  });

/**
 * Prints rows under their columns, for people. Empty cells become a dash. On a terminal that is too narrow each row becomes a block
 * of names and values, without those that are empty.
 * @param width of the terminal, in characters; undefined if it is none
 */
export function printTable(
  columns: readonly string[],
  rows: readonly (readonly unknown[])[],
  width: number | undefined = process.stdout.columns,
): void {
  const cells = [columns, ...rows.map(row => row.map(cell => plain(String(cell ?? "")) || "-"))];
  const widths = columns.map((_, at) => Math.max(...cells.map(row => (row[at] ?? "").length)));
  if (rows.length === 0) console.error("Nothing was found.");
  const needed = widths.reduce((sum, each) => sum + each + 2, -2);
  if (rows.length > 0 && width !== undefined && needed > width) {
    for (const [index, row] of rows.entries()) {
      if (index > 0) console.log("");
      printFacts(Object.fromEntries(columns.map((column, at) => [column, row[at]])));
    }
    return;
  }
  for (const row of cells)
    console.log(
      row
        .map((cell, at) => cell.padEnd(widths[at] ?? 0))
        .join("  ")
        .trimEnd(),
    );
}

/** Prints names and values, without those that are absent. */
export const printFacts = (facts: Readonly<Record<string, unknown>>): void => {
  const rows = Object.entries(facts).filter(([, value]) => value !== undefined && value !== null && value !== "");
  const width = Math.max(...rows.map(([name]) => name.length));
  for (const [name, value] of rows) console.log(`${name.padEnd(width)}  ${plain(String(value))}`);
};

export const printJson = (value: unknown): void => console.log(JSON.stringify(value, undefined, 2));

/** Options of a list that has pages. */
export const pageOptions = { top: { type: "string" }, page: { type: "string" }, all: { type: "boolean" } } as const;

export const pageHelp = `  --top N          entries of a page, 1 to 1000; 50 by default
  --page TOKEN     the page that an earlier call named
  --all            every page`;

interface Page<T> {
  readonly data: readonly T[];
  readonly response: Response;
}

/** Reads one page of a list, or all of them. Reports on standard error how to get the next one. */
export async function readPages<T>(
  { top = "50", page, all = false }: { readonly top?: string; readonly page?: string; readonly all?: boolean },
  read: (query: { $top: number; $skiptoken?: string }) => Promise<Page<T>>,
): Promise<readonly T[]> {
  const entries: T[] = [];
  let next = page;
  do {
    const { data, response } = await read({ $top: Number(top), ...(next !== undefined && { $skiptoken: next }) });
    entries.push(...data);
    const [, link] = /<([^<>]+)>; rel="next"/.exec(response.headers.get("link") ?? "") ?? [];
    next = link === undefined ? undefined : (new URL(link, "http://page").searchParams.get("$skiptoken") ?? undefined);
  } while (all && next !== undefined);
  if (next !== undefined) console.error(`There are more: --page '${plain(next)}', or --all.`);
  return entries;
}
