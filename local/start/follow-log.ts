import { closeSync, openSync, readSync, statSync } from "node:fs";
import type { Level } from "../../lib/platform/log.ts";

/** A line that the app wrote to the log of Azure's host, or one by which the host itself warns. */
export type OnLine = (level: Level, text: string) => void;

const intervalMs = 200;
const levels: Readonly<Record<string, Level>> = { warn: "warn", fail: "error", crit: "error" };

/** Returns a function that takes more text of the log of Azure's host, and passes on its complete lines. */
export function createLogReader(onLine: OnLine): (text: string) => void {
  let rest = "";
  let [level, isApp]: [Level, boolean] = ["info", false];
  return text => {
    const lines = (rest + text).split(/\r?\n/);
    rest = lines.pop() ?? "";
    for (const line of lines) {
      // A message begins with a line of its level and category; its own lines are indented.
      const [, label = "", category = ""] = /^(trce|dbug|info|warn|fail|crit): (\S+)\[\d+\]$/.exec(line) ?? [];
      if (label !== "") [level, isApp] = [levels[label] ?? "info", category === "Host.Function.Console"];
      else if (line.trim() !== "" && (isApp || level !== "info")) onLine(level, line.trim());
    }
  };
}

/** Follows the log of Azure's host from its beginning. Returns what reads the rest and ends it. */
export function followLog(path: string, onLine: OnLine): () => void {
  const file = openSync(path, "r");
  const read = createLogReader(onLine);
  const decoder = new TextDecoder();
  let position = 0;
  const readMore = () => {
    const length = statSync(path).size - position;
    if (length <= 0) return;
    const bytes = Buffer.alloc(length);
    const count = readSync(file, bytes, 0, length, position);
    position += count;
    read(decoder.decode(bytes.subarray(0, count), { stream: true }));
  };
  const timer = setInterval(readMore, intervalMs);
  return () => {
    clearInterval(timer);
    readMore();
    closeSync(file);
  };
}
