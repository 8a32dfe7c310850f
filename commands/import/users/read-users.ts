import { csvRows } from "../csv-rows.ts";
import type { Line } from "../lines.ts";
import { type ImportUser, lineOf, type WrittenUser } from "./imported-user.ts";

/** Columns or members by the fields that they become. */
export type Mapping = ReadonlyMap<string, string>;

const fields = ["username", "password", "password_hash", "otpkeys", "enabled"] as const;
const attributePrefix = "attributes.";

/** Whether a text is a field of a user: `attributes.<key>`, or one of the others. */
export const isField = (text: string): boolean =>
  (fields as readonly string[]).includes(text) ||
  (text.startsWith(attributePrefix) && text.length > attributePrefix.length);

type Values = Readonly<Record<string, unknown>>;

/**
 * Reads the users of a file: CSV with a header, or an object in JSON on each line. Throws if the file cannot be read so.
 * @param note gets the names of columns that are not read
 */
export function readUsers(
  file: string,
  text: string,
  mapping: Mapping,
  note: (text: string) => void,
): readonly Line<ImportUser>[] {
  const isJson = /^\ufeff?\s*\{/.test(text);
  const rows = isJson ? jsonRows(text) : csvRows(file, text);
  const names = new Set(rows.flatMap(({ values }) => Object.keys(values ?? {})));
  if (rows.length === 0) return [{ file, line: 1, outcome: "refused", reason: "the file contains no user" }];
  for (const name of mapping.values()) if (!names.has(name)) throw new Error(`${file} has no column ${name}.`);
  const fieldOf = (name: string) => [...mapping].find(([, column]) => column === name)?.[0] ?? name;
  const isRead = (name: string) => isField(fieldOf(name)) || (isJson && name === "attributes");
  const unread = [...names].filter(name => !isRead(name));
  if (unread.length > 0) note(`${file}: not read: ${unread.join(", ")}`);
  return rows.map(({ line, values }) => {
    if (values === undefined) return { file, line, outcome: "refused", reason: "it is no object in JSON" };
    const byField = Object.fromEntries(Object.entries(values).map(([name, value]) => [fieldOf(name), value]));
    return lineOf(file, line, writtenUser(byField));
  });
}

function jsonRows(text: string): readonly { readonly line: number; readonly values: Values | undefined }[] {
  return text
    .replace(/^\ufeff/, "")
    .split("\n")
    .flatMap((row, index) => (row.trim() === "" ? [] : [{ line: index + 1, values: objectOf(row) }]));
}

function objectOf(row: string): Values | undefined {
  try {
    const value: unknown = JSON.parse(row);
    return typeof value === "object" && value !== null && !Array.isArray(value) ? (value as Values) : undefined;
  } catch {
    return undefined;
  }
}

/** Returns the user of a row. An empty value is an absent one, but for a password without a hash: then the user has none. */
function writtenUser(values: Values): WrittenUser {
  const text = (name: string) =>
    values[name] === undefined || values[name] === null ? undefined : String(values[name]);
  const { attributes: nested = {}, otpkeys } = values;
  const ofColumns = Object.entries(values).flatMap(([name, value]) =>
    name.startsWith(attributePrefix) ? [[name.slice(attributePrefix.length), value] as const] : [],
  );
  const attributes = [...Object.entries(nested as object), ...ofColumns].filter(([, value]) => (value ?? "") !== "");
  const hash = text("password_hash") || undefined;
  const password = text("password");
  return {
    username: text("username"),
    ...(password !== undefined && (password !== "" || hash === undefined) && { password }),
    ...(hash !== undefined && { password_hash: hash }),
    attributes: Object.fromEntries(attributes.map(([key, value]) => [key, String(value)])),
    otpkeys: Array.isArray(otpkeys) ? otpkeys.map(String) : (text("otpkeys") ?? "").split(/[\s,;|]+/).filter(Boolean),
    enabled: flagOf(text("enabled") ?? ""),
  };
}

/** Returns the boolean that a text stands for; true if it is empty, undefined if it is neither. */
export function flagOf(text: string): boolean | undefined {
  if (/^(true|t|1|yes|)$/i.test(text)) return true;
  return /^(false|f|0|no)$/i.test(text) ? false : undefined;
}
