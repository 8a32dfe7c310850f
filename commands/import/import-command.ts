import { setTimeout as pause } from "node:timers/promises";
import type { Client } from "openapi-fetch";
import type { paths } from "../../docs/openapi/core.ts";
import { instant, type Now } from "../../lib/platform/time.ts";
import { apiUrl, connectApi } from "../api.ts";
import { type ImportArguments, importArguments } from "./arguments.ts";
import { createAsk, ImportStopped } from "./calls.ts";
import { readPassphrase, readPreSharedKey, readTexts, readToken } from "./inputs.ts";
import { catchInterrupt } from "./interrupt.ts";
import { type Line, readLines } from "./lines.ts";
import { createProgress, formatCount, refusedLine, summaryOf } from "./progress.ts";
import { checkReport, writeReport } from "./report.ts";
import { runImport } from "./run-import.ts";
import { createScreen, type Output, type Screen } from "./screen.ts";
import { checkCore, sendKeys } from "./send.ts";

const timeOfDay: Now = () => instant(Date.now());

const exitCodes = { done: 0, someFailed: 1, notStarted: 2, stopped: 3 };

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

/** Imports OTP keys from the files of key makers (A18, G13). Returns the exit code. */
export async function runImportCommand(args: readonly string[], command: CommandProcess): Promise<number> {
  const { stdout, stderr, now } = command;
  const deps = { ...command, screen: createScreen(stdout, stderr, now) };
  const printError = (error: unknown) => stderr.write(`${error instanceof Error ? error.message : String(error)}\n`);
  let prepared: Prepared | undefined;
  try {
    const given = importArguments(args);
    prepared = given && (await prepare(given, command));
  } catch (error) {
    printError(error);
    return exitCodes.notStarted;
  }
  if (prepared === undefined) return exitCodes.done;
  try {
    return await run(prepared, deps);
  } catch (error) {
    printError(error);
    return exitCodes.stopped;
  }
}

interface Prepared {
  readonly given: ImportArguments;
  /** Absent in a dry run. */
  readonly api?: Client<paths>;
  readonly lines: readonly Line[];
}

/** Reads all inputs. Throws if the run cannot start. */
async function prepare(given: ImportArguments, { environment }: CommandProcess): Promise<Prepared> {
  if (given.report !== undefined) await checkReport(given.report);
  const pskc = {
    preSharedKey: await readPreSharedKey(given.pskcKeyFile, environment.PSKC_KEY),
    passphrase: await readPassphrase(given.pskcPassphraseFile, environment.PSKC_PASSPHRASE),
  };
  const api = given.dryRun
    ? undefined
    : connectApi<paths>(given.url, await readToken(given.tokenFile, environment.API_TOKEN), {
        prefix: "/core",
        timeoutMs: given.timeoutMs,
      });
  const texts = await readTexts(given.files);
  const lines = readLines(texts, { log: given.log, pskc, now: timeOfDay() });
  return { given, lines, ...(api && { api }) };
}

async function run({ given, api, lines }: Prepared, deps: RunDeps): Promise<number> {
  const { screen } = deps;
  for (const line of lines) if (line.outcome === "refused") screen.result(refusedLine(line));
  const total = lines.filter(({ outcome }) => outcome === "open").length;
  const sent = api === undefined || total === 0 ? { lines } : await send(lines, { given, api, total }, deps);
  const { lines: results, interrupted, stopped } = { interrupted: undefined, stopped: undefined, ...sent };
  screen.result(summaryOf(results, api === undefined ? "to be sent" : "open"));
  if (given.report !== undefined) await writeReport(given.report, results);
  const open = results.filter(({ outcome }) => outcome === "open").length;
  if (stopped !== undefined) screen.note(`Stopped: ${stopped}.`);
  if (api !== undefined && open > 0)
    screen.note(`${formatCount(open)} are open: run the same command again to continue.`);
  if (interrupted !== undefined) return interrupted;
  if (stopped !== undefined) return exitCodes.stopped;
  const hasFailures = results.some(({ outcome }) => outcome === "refused" || outcome === "failed");
  return hasFailures ? exitCodes.someFailed : exitCodes.done;
}

async function send(
  lines: readonly Line[],
  { given, api, total }: { readonly given: ImportArguments; readonly api: Client<paths>; readonly total: number },
  { screen, now }: RunDeps,
) {
  const interrupt = catchInterrupt(() =>
    screen.note("Stopping: waiting for calls in progress. Press Ctrl-C again to stop at once."),
  );
  const { stop, cut } = interrupt;
  const url = apiUrl(given.url);
  const ask = createAsk({
    url,
    stop,
    cut,
    now,
    timeOfDay,
    random: Math.random,
    sleep: (ms, signal) => pause(ms, undefined, { signal }),
    waits: seconds => screen.note(`${url} requests a wait of ${seconds} s.`),
  });
  try {
    await checkCore({ api, ask });
    const tried = createProgress(screen, total, now);
    const result = await runImport(lines, {
      parallel: given.parallel,
      batch: given.batch,
      stop,
      tried,
      send: keys => sendKeys(keys, given, { api, ask }),
    });
    return { ...result, interrupted: interrupt.exitCode() };
  } catch (error) {
    if (!(error instanceof ImportStopped)) throw error;
    return { lines, stopped: error.message, interrupted: interrupt.exitCode() };
  } finally {
    screen.endProgress();
    interrupt.release();
  }
}
