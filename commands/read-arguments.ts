import { type ParseArgsOptionsConfig, parseArgs } from "node:util";
import { nearestNameIn } from "../lib/platform/settings/nearest-name.ts";

/** A command of package.json as its users see it. */
interface Command<T extends ParseArgsOptionsConfig> {
  /** What a user types, such as `npm start`. */
  readonly name: string;
  readonly help: string;
  readonly options: T;
  /** Whether the command takes arguments other than options. */
  readonly allowPositionals?: boolean;
}

type Parsed<T extends ParseArgsOptionsConfig> = ReturnType<
  typeof parseArgs<{ options: T & typeof helpOption; allowPositionals: true }>
>;

const helpOption = { help: { type: "boolean", short: "h" } } as const;

/**
 * Parses a command line. Returns undefined if it asks for help, which is printed then. Throws an error with one sentence about
 * the wrong argument, and how to see the help.
 * @param args by default those of the process
 */
export function readArguments<const T extends ParseArgsOptionsConfig>(
  { name, help, options, allowPositionals = false }: Command<T>,
  args: readonly string[] = process.argv.slice(2),
): Parsed<T> | undefined {
  let parsed: Parsed<T>;
  try {
    parsed = parseArgs({ args: [...args], options: { ...options, ...helpOption }, allowPositionals }) as Parsed<T>;
  } catch (error) {
    throw usageError(name, `${problemOf(error, Object.keys(options))}.`);
  }
  if (!("help" in parsed.values)) return parsed;
  console.log(help);
  return undefined;
}

/** A command is called wrongly. */
export class UsageError extends Error {
  override readonly name = "UsageError";
}

/** Returns the error of a wrong command line. */
export const usageError = (name: string, problem: string): Error =>
  new UsageError(`${problem} For help: ${name} -- --help`);

function problemOf(error: unknown, options: readonly string[]): string {
  const { message, code } = error as NodeJS.ErrnoException;
  // Node's further sentences explain how to pass such a text as a positional argument.
  const [problem = message] = message.split(". ");
  const argument = code === "ERR_PARSE_ARGS_UNKNOWN_OPTION" ? (/'([^']+)'/.exec(problem)?.[1] ?? "") : "";
  const nearest = nearestNameIn(options)(argument);
  return nearest === undefined ? problem : `${problem} (did you mean --${nearest}?)`;
}
