// How long the whole run takes on this machine, by the last one that passed.
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";

const path = join("node_modules", ".cache", "whole-run.json");

/** One sentence for the start of the whole run. */
export function expectedDuration(): string {
  const seconds = lastSeconds();
  return seconds === undefined
    ? "Expected duration: 10 to 15 minutes on two free cores. `npm test -- --help` lists shorter runs."
    : `Expected duration: ${minutesOf(seconds)}, as the last time. \`npm test -- --help\` lists shorter runs.`;
}

export function recordDuration(seconds: number): void {
  mkdirSync(dirname(path), { recursive: true });
  writeFileSync(path, JSON.stringify({ seconds: Math.round(seconds) }));
}

function lastSeconds(): number | undefined {
  try {
    const { seconds } = JSON.parse(readFileSync(path, "utf8")) as { readonly seconds?: unknown };
    return typeof seconds === "number" ? seconds : undefined;
  } catch {
    return undefined;
  }
}

function minutesOf(seconds: number): string {
  const minutes = Math.max(1, Math.round(seconds / 60));
  return `${minutes} ${minutes === 1 ? "minute" : "minutes"}`;
}
