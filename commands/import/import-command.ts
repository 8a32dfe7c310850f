import type { Client } from "openapi-fetch";
import type { paths } from "../../docs/openapi/core.ts";
import { connectApi } from "../api.ts";
import type { CommonArguments } from "./arguments.ts";
import { readToken } from "./inputs.ts";
import type { Line } from "./lines.ts";
import { createProgress, formatCount, refusedLine, summaryOf } from "./progress.ts";
import { checkReport, type ReportColumns, writeReport } from "./report.ts";
import { exitCodes, runCalls } from "./run-calls.ts";
import { runImport, type Sent } from "./run-import.ts";
import { createScreen, type Output, type Screen } from "./screen.ts";
import { type Core, checkCore } from "./send.ts";

/** What the command uses of its process. */
export interface CommandProcess {
  /** Has API_TOKEN, PSKC_KEY and PSKC_PASSPHRASE, unless files have them. */
  readonly environment: Readonly<Record<string, string | undefined>>;
  readonly stdout: Output;
  readonly stderr: Output;
  /** Monotonic, in milliseconds. */
  readonly now: () => number;
}

interface RunDeps extends CommandProcess {
  readonly screen: Screen;
}

/** What is imported, and how. @typeParam A its command line; T what a line describes */
export interface ImportKind<A extends CommonArguments, T> {
  readonly noun: "key" | "user";
  /** Returns undefined if the command line asks for help. Throws if it is wrong. */
  readonly parseArguments: (args: readonly string[]) => A | undefined;
  /** Reads all files. Throws if one cannot be read. @param note writes a note for the person who runs the command */
  readonly readLines: (
    given: A,
    environment: CommandProcess["environment"],
    note: (text: string) => void,
  ) => Promise<readonly Line<T>[]>;
  /** Sends items in one call. The outcomes have the order of the items. Throws `ImportStopped`. */
  readonly send: (items: readonly T[], given: A, core: Core) => Promise<readonly Sent[]>;
  /** Size of an item in a call, if a call could become too large. */
  readonly bytesOf?: (item: T) => number;
  readonly columns: ReportColumns<T>;
}

/** Runs `npm run import-…` in this process. @param script its name */
export async function runImportScript<A extends CommonArguments, T>(
  kind: ImportKind<A, T>,
  script: string,
): Promise<void> {
  // A reader such as `head` may close the pipe early. That does not stop the import.
  for (const stream of [process.stdout, process.stderr]) stream.on("error", () => {});
  // Paths are relative to the directory in which npm was called; npm runs scripts in the package's directory.
  if (process.env.npm_lifecycle_event === script) process.chdir(process.env.INIT_CWD ?? ".");
  process.exitCode = await runImportCommand(kind, process.argv.slice(2), {
    environment: process.env,
    stdout: process.stdout,
    stderr: process.stderr,
    now: () => performance.now(),
  });
}

/** Imports what the files of a command line describe (A18, A25, G13). Returns the exit code. */
export async function runImportCommand<A extends CommonArguments, T>(
  kind: ImportKind<A, T>,
  args: readonly string[],
  command: CommandProcess,
): Promise<number> {
  const { stdout, stderr } = command;
  const deps = { ...command, screen: createScreen(stdout, stderr) };
  const printError = (error: unknown) => stderr.write(`${error instanceof Error ? error.message : String(error)}\n`);
  let prepared: Prepared<A, T> | undefined;
  try {
    const given = kind.parseArguments(args);
    prepared = given && (await prepare(kind, given, deps));
  } catch (error) {
    printError(error);
    return exitCodes.notStarted;
  }
  if (prepared === undefined) return exitCodes.done;
  try {
    return await run(kind, prepared, deps);
  } catch (error) {
    printError(error);
    return exitCodes.stopped;
  }
}

interface Prepared<A, T> {
  readonly given: A;
  /** Absent in a dry run. */
  readonly api?: Client<paths>;
  readonly lines: readonly Line<T>[];
}

/** Reads all inputs. Throws if the run cannot start. */
async function prepare<A extends CommonArguments, T>(
  kind: ImportKind<A, T>,
  given: A,
  { environment, screen }: RunDeps,
): Promise<Prepared<A, T>> {
  if (given.report !== undefined) await checkReport(given.report, kind.columns);
  const api = given.dryRun
    ? undefined
    : connectApi<paths>(given.url, await readToken(given.tokenFile, environment.API_TOKEN), {
        prefix: "/core",
        timeoutMs: given.timeoutMs,
      });
  const lines = await kind.readLines(given, environment, screen.note);
  return { given, lines, ...(api && { api }) };
}

async function run<A extends CommonArguments, T>(
  kind: ImportKind<A, T>,
  { given, api, lines }: Prepared<A, T>,
  deps: RunDeps,
): Promise<number> {
  const { screen } = deps;
  for (const line of lines) if (line.outcome === "refused") screen.result(refusedLine(line));
  const total = lines.filter(({ outcome }) => outcome === "open").length;
  const sent = api === undefined || total === 0 ? { lines } : await send(kind, lines, { given, api, total }, deps);
  const { lines: results = lines, interrupted, stopped } = { interrupted: undefined, stopped: undefined, ...sent };
  screen.result(summaryOf(results, api === undefined ? "to be sent" : "open", kind.noun));
  if (given.report !== undefined) await writeReport(given.report, results, kind.columns);
  const open = results.filter(({ outcome }) => outcome === "open").length;
  if (stopped !== undefined) screen.note(`Stopped: ${stopped}.`);
  if (api !== undefined && open > 0)
    screen.note(`${formatCount(open)} are open: run the same command again to continue.`);
  if (interrupted !== undefined) return interrupted;
  if (stopped !== undefined) return exitCodes.stopped;
  const hasFailures = results.some(({ outcome }) => outcome === "refused" || outcome === "failed");
  return hasFailures ? exitCodes.someFailed : exitCodes.done;
}

async function send<A extends CommonArguments, T>(
  kind: ImportKind<A, T>,
  lines: readonly Line<T>[],
  { given, api, total }: { readonly given: A; readonly api: Client<paths>; readonly total: number },
  { screen, now }: RunDeps,
) {
  return runCalls({ service: "a Core API", url: given.url, screen }, async (ask, stop) => {
    await checkCore({ api, ask });
    return runImport(lines, {
      parallel: given.parallel,
      batch: given.batch,
      stop,
      tried: createProgress(screen, total, now, kind.noun),
      bytesOf: kind.bytesOf,
      send: items => kind.send(items, given, { api, ask }),
    });
  });
}
