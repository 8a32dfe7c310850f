import { afterAll } from "vitest";

/** Returns the log events of the app, which the host collects from the console, from now until the end of the test file. */
export function consoleEvents(): readonly Readonly<Record<string, unknown>>[] {
  const events: Record<string, unknown>[] = [];
  for (const level of ["info", "warn", "error"] as const) {
    const write = console[level];
    console[level] = (...words: unknown[]) => {
      const [line] = words;
      if (typeof line === "string" && line.startsWith('{"event"')) events.push(JSON.parse(line));
      else write(...words);
    };
    afterAll(() => {
      console[level] = write;
    });
  }
  return events;
}
