import { Refused } from "./api.ts";
import { plain } from "./import/screen.ts";
import { UsageError, usageError } from "./read-arguments.ts";

/** Exit codes of the commands for users and requests. */
export const exitHelp = `The exit code is 0 if it is done, 1 if the API refuses or is not responding, 2 if the command is called wrongly,
3 if there is no such entry.`;

/** Prints why a command failed, and sets the exit code of `exitHelp`. */
export async function runOperatorCommand(main: () => Promise<void>): Promise<void> {
  // A reader such as `head` may close the pipe early.
  process.stdout.on("error", () => process.exit());
  try {
    await main();
  } catch (error) {
    console.error(plain(error instanceof Error ? error.message : String(error)));
    const isMissing = error instanceof Refused && error.status === 404;
    process.exitCode = error instanceof UsageError ? 2 : isMissing ? 3 : 1;
  }
}

interface Given<A extends string> {
  readonly name: string;
  readonly actions: readonly A[];
  /** Those of the actions that list. The others need one argument. */
  readonly listing: readonly A[];
  /** How many arguments may follow the first one. */
  readonly optional?: Readonly<Partial<Record<A, number>>>;
}

/** Returns the action and its first argument. Throws if one is missing or superfluous. */
export function actionOf<A extends string>(
  { name, actions, listing, optional }: Given<A>,
  [word, argument = "", ...others]: readonly string[],
): { readonly action: A; readonly argument: string } {
  const action = actions.find(each => each === word);
  if (action === undefined) throw usageError(name, `The action must be one of ${actions.join(", ")}.`);
  const most = optional?.[action] ?? 0;
  const count = most === 0 ? "one argument" : `1 to ${most + 1} arguments`;
  if (others.length > most || (argument === "") !== listing.includes(action))
    throw usageError(name, listing.includes(action) ? `${action} has options only.` : `${action} needs ${count}.`);
  return { action, argument };
}

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
