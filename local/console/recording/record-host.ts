import { recordCalls } from "./record-calls.ts";

/**
 * Passes the log lines and outgoing calls of the host in this process to `addLine`. To be called before the app is loaded, because the app
 * keeps `fetch` and the console's methods.
 */
export function recordHost(addLine: (line: string) => void): void {
  globalThis.fetch = recordCalls(globalThis.fetch, addLine);
  for (const level of ["debug", "info", "warn", "error"] as const) {
    const write = console[level];
    console[level] = (...parts: unknown[]) => {
      if (typeof parts[0] === "string") addLine(parts[0]);
      write(...parts);
    };
  }
}
