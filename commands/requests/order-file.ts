import type { Client } from "openapi-fetch";
import type { paths } from "../../docs/openapi/connector.ts";
import { readTexts } from "../import/inputs.ts";
import { type Line, locationOf } from "../import/lines.ts";
import { createProgress, formatCount, refusedLine, summaryOf } from "../import/progress.ts";
import { checkReport, writeReport } from "../import/report.ts";
import { type EndedEarly, exitCodes, runCalls } from "../import/run-calls.ts";
import { runImport } from "../import/run-import.ts";
import { createScreen, type Output, plain, type Screen } from "../import/screen.ts";
import { type Order, readOrders } from "./order-lines.ts";
import {
  type EarlierOrders,
  keptOf,
  orderColumns,
  type ReportedOrder,
  readEarlier,
  reportPathOf,
} from "./order-report.ts";
import { checkOrder, sendOrder } from "./send-order.ts";

export interface OrderFileOptions {
  readonly file: string;
  /** Whether the orders are only checked. */
  readonly dryRun: boolean;
  readonly url: string;
  readonly api: Client<paths>;
  /** Number of calls in progress. */
  readonly parallel: number;
  readonly stdout: Output;
  readonly stderr: Output;
  /** Monotonic, in milliseconds. */
  readonly now: () => number;
}

interface Results extends EndedEarly {
  readonly lines?: readonly Line<Order>[];
}

/**
 * Checks every order of a file, then places them if no line is refused. The report beside the file has the outcome of each line, and makes a
 * second run continue. Returns the exit code.
 */
export async function orderFile(options: OrderFileOptions): Promise<number> {
  let prepared: Prepared | undefined;
  try {
    prepared = await prepare(options.file);
    return await run(prepared, options);
  } catch (error) {
    options.stderr.write(`${plain(error instanceof Error ? error.message : String(error))}\n`);
    return prepared === undefined ? exitCodes.notStarted : exitCodes.stopped;
  }
}

interface Prepared {
  readonly report: string;
  readonly earlier: EarlierOrders;
  readonly read: readonly Line<Order>[];
}

/** Throws if the file or the report cannot be read. */
async function prepare(file: string): Promise<Prepared> {
  const report = reportPathOf(file);
  await checkReport(report, orderColumns);
  const earlier = await readEarlier(report);
  const [{ text } = { text: "" }] = await readTexts([file]);
  return { report, earlier, read: readOrders(file, text, earlier) };
}

async function run({ report, earlier, read }: Prepared, options: OrderFileOptions): Promise<number> {
  const { dryRun, stdout, stderr } = options;
  const screen = createScreen(stdout, stderr);
  for (const line of read) if (line.outcome === "refused") screen.result(refusedLine(line));
  const checked = await pass(read, "check", options, screen);
  const isChecked = checked.stopped === undefined && checked.interrupted === undefined;
  const isPlaced = isChecked && !dryRun && !(checked.lines ?? read).some(hasFailed);
  const ended = isPlaced ? await pass(checked.lines ?? read, "order", options, screen) : checked;
  const lines = ended.lines ?? checked.lines ?? read;
  screen.result(summaryOf(lines, isPlaced ? "open" : "not ordered", "order", "already ordered"));
  if (!dryRun) {
    await writeReport<ReportedOrder>(report, [...lines, ...keptOf(earlier, lines)], orderColumns);
    screen.note(`The outcome of each line: ${report}`);
  }
  if (ended.stopped !== undefined) screen.note(`Stopped: ${ended.stopped}.`);
  const isOpen = lines.some(({ outcome }) => outcome === "open");
  if (isChecked && !isPlaced && !dryRun)
    screen.note("Nothing was ordered: correct the file, and run the command again.");
  else if (!dryRun && isOpen) screen.note("Run the same command again to continue: nothing is ordered twice.");
  if (ended.interrupted !== undefined) return ended.interrupted;
  if (ended.stopped !== undefined) return exitCodes.stopped;
  return lines.some(hasFailed) ? exitCodes.someFailed : exitCodes.done;
}

const hasFailed = ({ outcome }: Line<Order>): boolean => outcome === "refused" || outcome === "failed";

/** Makes a call for each open line. */
async function pass(
  lines: readonly Line<Order>[],
  step: "check" | "order",
  { url, api, parallel, now }: OrderFileOptions,
  screen: Screen,
): Promise<Results> {
  const open = lines.filter(({ outcome }) => outcome === "open").length;
  if (open === 0) return { lines };
  const warnings = new Map<string, Order[]>();
  const warn = (text: string, order: Order) => warnings.set(text, [...(warnings.get(text) ?? []), order]);
  const results = await runCalls({ service: "a connector", url, screen }, (ask, stop) =>
    runImport(lines, {
      parallel,
      batch: 1,
      stop,
      tried: createProgress(screen, open, now, step),
      send: orders =>
        Promise.all(
          orders.map(order =>
            step === "order"
              ? sendOrder(order, { api, ask })
              : checkOrder(order, { api, ask }, text => warn(text, order)),
          ),
        ),
    }),
  );
  // The same one can concern every line.
  for (const [text, [first, ...others]] of warnings) {
    const line = lines.find(({ item }) => item === first);
    const place = line === undefined ? "" : locationOf(line);
    screen.result(`${place}${others.length > 0 ? ` and ${formatCount(others.length)} more` : ""}: warning: ${text}`);
  }
  return results;
}
