import { constants } from "node:fs";
import { access, open, rename, rm, stat, writeFile } from "node:fs/promises";
import { dirname } from "node:path";
import type { Line } from "./lines.ts";

const columns = ["file", "line", "prefix", "kind", "outcome", "reason"] as const;
const header = `${columns.join(",")}\r\n`;

/**
 * Checks before anything is sent that the report can be written. Overwrites an existing file only if it is an earlier report, because
 * it might be the file of keys. Throws an error that names the path and the reason.
 */
export async function checkReport(path: string): Promise<void> {
  try {
    await access(dirname(path), constants.W_OK);
  } catch {
    throw new Error(`The report cannot be written to ${dirname(path)}.`);
  }
  if (!["", header].includes(await startOf(path))) throw new Error(`${path} exists and is not a report of an import.`);
}

/** Returns the first bytes of a file, or an empty text if there is no file. */
async function startOf(path: string): Promise<string> {
  const found = await stat(path).catch((error: NodeJS.ErrnoException) => {
    if (error.code === "ENOENT") return undefined;
    throw error;
  });
  if (found === undefined) return "";
  if (!found.isFile()) return "no file";
  await using file = await open(path);
  const { buffer, bytesRead } = await file.read(Buffer.alloc(header.length), 0, header.length, 0);
  return buffer.toString("utf8", 0, bytesRead);
}

/** Writes the outcome of each line, completely or not at all. The report contains no secret. */
export async function writeReport(path: string, lines: readonly Line[]): Promise<void> {
  const unfinished = `${path}.${process.pid}.new`;
  try {
    await writeFile(unfinished, reportOf(lines), { mode: 0o600 });
    await rename(unfinished, path);
  } catch (error) {
    await rm(unfinished, { force: true });
    throw error;
  }
}

/** Returns the report as CSV (RFC 4180). */
export function reportOf(lines: readonly Line[]): string {
  const rows = lines.map(({ file, line, key, outcome, reason }) =>
    [file, String(line), key?.prefix ?? "", key?.kind ?? "", outcome, reason].map(field).join(","),
  );
  return header + rows.map(row => `${row}\r\n`).join("");
}

/** Returns a CSV field. An apostrophe keeps spreadsheets from reading a text as a formula. */
function field(text: string): string {
  const safe = /^[\s\p{Cc}]*[=+\-@|%＝＋－＠]/u.test(text) ? `'${text}` : text;
  return /^[\w.:/ -]*$/.test(safe) ? safe : `"${safe.replaceAll('"', '""')}"`;
}
