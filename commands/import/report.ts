import { constants } from "node:fs";
import { access, open, rename, rm, stat, writeFile } from "node:fs/promises";
import { dirname } from "node:path";
import type { Line } from "./lines.ts";

/** The columns of a report about what a line describes, by their names. */
export type ReportColumns<T> = Readonly<Record<string, (item: T) => string>>;

const headerOf = (columns: ReportColumns<never>): string =>
  `${["file", "line", ...Object.keys(columns), "outcome", "reason"].join(",")}\r\n`;

/**
 * Checks before anything is sent that the report can be written. Overwrites an existing file only if it is an earlier report, because
 * it might be the file of keys. Throws an error that names the path and the reason.
 */
export async function checkReport(path: string, columns: ReportColumns<never>): Promise<void> {
  try {
    await access(dirname(path), constants.W_OK);
  } catch {
    throw new Error(`The report cannot be written to ${dirname(path)}.`);
  }
  const header = headerOf(columns);
  if (!["", header].includes(await startOf(path, header.length)))
    throw new Error(`${path} exists and is not an earlier report.`);
}

/** Returns the first bytes of a file, or an empty text if there is no file. */
async function startOf(path: string, length: number): Promise<string> {
  const found = await stat(path).catch((error: NodeJS.ErrnoException) => {
    if (error.code === "ENOENT") return undefined;
    throw error;
  });
  if (found === undefined) return "";
  if (!found.isFile()) return "no file";
  await using file = await open(path);
  const { buffer, bytesRead } = await file.read(Buffer.alloc(length), 0, length, 0);
  return buffer.toString("utf8", 0, bytesRead);
}

/** Writes the outcome of each line, completely or not at all. The report contains no secret. */
export async function writeReport<T>(
  path: string,
  lines: readonly Line<T>[],
  columns: ReportColumns<T>,
): Promise<void> {
  const unfinished = `${path}.${process.pid}.new`;
  try {
    await writeFile(unfinished, reportOf(lines, columns), { mode: 0o600 });
    await rename(unfinished, path);
  } catch (error) {
    await rm(unfinished, { force: true });
    throw error;
  }
}

/** Returns the report as CSV (RFC 4180). */
export function reportOf<T>(lines: readonly Line<T>[], columns: ReportColumns<T>): string {
  const rows = lines.map(({ file, line, item, outcome, reason }) => {
    const own = Object.values(columns).map(textOf => (item === undefined ? "" : textOf(item)));
    return [file, String(line), ...own, outcome, reason].map(field).join(",");
  });
  return headerOf(columns) + rows.map(row => `${row}\r\n`).join("");
}

/** Returns a CSV field. An apostrophe keeps spreadsheets from reading a text as a formula. */
function field(text: string): string {
  const safe = /^[\s\p{Cc}]*[=+\-@|%＝＋－＠]/u.test(text) ? `'${text}` : text;
  return /^[\w.:/ -]*$/.test(safe) ? safe : `"${safe.replaceAll('"', '""')}"`;
}
