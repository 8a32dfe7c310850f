import { readFileSync, writeFileSync } from "node:fs";
import type { Row } from "./play.ts";

const path = "docs/failures.md";

/** The tables of one part of the document, rows of one outcome in one line. */
export function tables(scenes: readonly { readonly title: string; readonly rows: readonly Row[] }[]): string {
  return scenes.map(({ title, rows }) => `### ${title}\n\n${table(rows)}\n`).join("\n");
}

const columns = ["Peer", "Call", "Failure", "Answer", "State", "Message", "Again", "In the end"];

function table(rows: readonly Row[]): string {
  const isAnswered = rows.some(({ answer }) => answer !== "");
  const shown = isAnswered ? columns : columns.filter(name => name !== "Answer");
  const alike = Map.groupBy(rows, ({ failure: _, ...outcome }) => JSON.stringify(outcome));
  const lines = [...alike.values()].map(of => lineOf(of, isAnswered));
  return [`| ${shown.join(" | ")} |`, `|${shown.map(() => "---").join("|")}|`, ...lines].join("\n");
}

function lineOf(alike: readonly Row[], isAnswered: boolean): string {
  const [first] = alike;
  if (first === undefined) throw new Error("no row");
  const { peer, call, answer, state, message, again, end } = first;
  const failures = alike.map(({ failure }) => failure).join("; ");
  const isEnd = end === [state, message].filter(Boolean).join(": ");
  const cells = [peer, call, failures, ...(isAnswered ? [answer] : []), state, message, again, isEnd ? "so" : end];
  return `| ${cells.map(cell => cell.replaceAll("|", "\\|")).join(" | ")} |`;
}

const marks = (part: string) => [`<!-- ${part}: begin -->`, `<!-- ${part}: end -->`] as const;

/** What the document says between the marks of a part. Throws where it has none. */
export function readPart(part: string): string {
  const text = readFileSync(path, "utf8");
  const [begin, end] = marks(part);
  const [from, to] = [text.indexOf(begin), text.indexOf(end)];
  if (from === -1 || to < from) throw new Error(`${path} has no part ${part}`);
  return text.slice(from + begin.length, to).trim();
}

export function writePart(part: string, content: string): void {
  const text = readFileSync(path, "utf8");
  const [begin, end] = marks(part);
  const [before = "", rest = ""] = text.split(begin);
  writeFileSync(path, `${before}${begin}\n\n${content.trim()}\n\n${end}${rest.split(end)[1] ?? ""}`);
}
