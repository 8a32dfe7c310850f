import { AsyncLocalStorage } from "node:async_hooks";
import type { IncomingMessage } from "node:http";
import { format } from "node:util";
import { consoleUserAgent } from "../../commands/console/calls.ts";
import type { Level } from "../../lib/platform/log.ts";
import { describeCall, describeEvent, parseEvent, stampLine } from "./log-line.ts";

const modes = ["json", "pretty", "quiet"] as const;

/** `json` has every event as JSON, `pretty` a readable line for each call and event, `quiet` warnings and errors only. */
export type LogMode = (typeof modes)[number];

/** Returns the log mode of the option `--log`: by default `pretty` on a terminal, `json` otherwise. Throws on another value. */
export function logMode(option: string | undefined, isTerminal: boolean): LogMode {
  const mode = modes.find(known => known === (option ?? (isTerminal ? "pretty" : "json")));
  if (mode === undefined) throw new Error(`--log must be ${modes.join(", ")}. For help: npm start -- --help`);
  return mode;
}

export interface LocalLog {
  /** Logs a line that the app or a tool writes to the console. */
  line(level: Level, text: string): void;
  /** Runs a call of the host and logs it, except a read by the console, which repeats all the time. */
  observe<T extends { readonly status: number }>(request: IncomingMessage, answer: () => Promise<T>): Promise<T>;
}

interface LogOptions {
  readonly stdout: NodeJS.WriteStream;
  readonly stderr: NodeJS.WriteStream;
  readonly now: () => Date;
}

export function createLocalLog(mode: LogMode, { stdout, stderr, now }: LogOptions): LocalLog {
  /** Whether the current call is a read by the console. */
  const hidden = new AsyncLocalStorage<boolean>();
  const streamOf = (level: Level) => (level === "warn" || level === "error" ? stderr : stdout);

  const jsonLine = (level: Level, text: string) => {
    const event = parseEvent(text) ?? { event: "console", text };
    if (event.event === "http" && hidden.getStore() === true) return;
    streamOf(level).write(`${JSON.stringify({ time: now().toISOString(), level, ...event })}\n`);
  };

  const readableLine = (level: Level, text: string) => {
    const event = parseEvent(text);
    // The line of the call itself says more.
    if (event?.event === "http" || (mode === "quiet" && level !== "warn" && level !== "error")) return;
    const stream = streamOf(level);
    stream.write(stampLine(level, event === undefined ? text : describeEvent(event), now(), stream));
  };

  return {
    line: mode === "json" ? jsonLine : readableLine,
    observe: async (request, answer) => {
      const { method = "", url = "" } = request;
      const isHidden = request.headers["user-agent"] === consoleUserAgent && method === "GET";
      const started = performance.now();
      const made = await hidden.run(isHidden, answer);
      if (mode === "pretty" && !isHidden) {
        const [path = ""] = url.split("?");
        const call = { method, path, status: made.status, durationMs: performance.now() - started };
        stdout.write(stampLine("info", describeCall(call, stdout), now(), stdout));
      }
      return made;
    },
  };
}

/** Passes everything that is written with `console` to the log, except `console.log`. */
export function captureConsole(log: LocalLog): void {
  for (const level of ["debug", "info", "warn", "error"] as const) {
    console[level] = (...values: unknown[]) => log.line(level === "debug" ? "info" : level, format(...values));
  }
}
