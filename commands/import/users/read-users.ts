import { csvRows } from "../csv-rows.ts";
import { type ReadLine, RefusedLine, readEach } from "../lines.ts";
import { checkUser, type ImportUser, type WrittenUser } from "./imported-user.ts";

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
): readonly ReadLine<ImportUser>[] {
  const isJson = /^\ufeff?\s*\{/.test(text);
  const rows = isJson ? jsonRows(text) : csvRows(file, text);
  const names = new Set(rows.flatMap(({ values }) => Object.keys(values ?? {})));
  if (rows.length === 0) return [];
  // Without a header the first user would be taken for one, and the note below would quote a password.
  for (const name of [mapping.get("username") ?? "username", ...mapping.values()])
    if (!names.has(name)) throw new Error(`${file} has no column ${name}.`);
  const mapped = new Set(mapping.values());
  /** Whether a column is a field by its own name. */
  const isOwnField = (name: string) =>
    !mapped.has(name) && !mapping.has(name) && (isField(name) || (isJson && name === "attributes"));
  const unread = [...names].filter(name => !mapped.has(name) && !isOwnField(name));
  if (unread.length > 0) note(`${file}: not read: ${unread.join(", ")}`);
  const readRow = (values: Values | undefined) => {
    if (values === undefined) throw new RefusedLine("it is no object in JSON");
    const own = Object.entries(values).filter(([name]) => isOwnField(name));
    const byMapping = [...mapping].map(([field, column]) => [field, values[column]] as const);
    return checkUser(writtenUser(Object.fromEntries([...own, ...byMapping])));
  };
  return readEach(
    rows.map(({ line, values }) => [line, values] as const),
    readRow,
  );
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
  const problems: string[] = [];
  /** Returns a text; of a number only where it is written in one way. */
  const textOf = (name: string, value: unknown, orNumber: boolean): string | undefined => {
    if (value === undefined || value === null) return undefined;
    if (typeof value === "string") return value;
    if (orNumber && (typeof value === "boolean" || Number.isSafeInteger(value))) return String(value);
    problems.push(`its ${name} is no text`);
    return undefined;
  };
  const [username, password, hash] = ["username", "password", "password_hash"].map(name =>
    textOf(name, values[name], false),
  );
  const { attributes, otpkeys } = values;
  const isNested = typeof attributes === "object" && attributes !== null && !Array.isArray(attributes);
  if (!isNested && (attributes ?? undefined) !== undefined) problems.push("its attributes are no object");
  const ofColumns = Object.entries(values).filter(([name]) => name.startsWith(attributePrefix));
  const all = [
    ...(isNested ? Object.entries(attributes) : []),
    ...ofColumns.map(([name, value]) => [name.slice(attributePrefix.length), value] as const),
  ].map(([key, value]) => [key, textOf(`attribute ${key}`, value, true) ?? ""] as const);
  const prefixes = Array.isArray(otpkeys) ? otpkeys : (textOf("otpkeys", otpkeys, true) ?? "").split(/[\s,;|]+/);
  const isGiven = password !== undefined && (password !== "" || !hash);
  return {
    username,
    ...(isGiven && { password }),
    ...(hash && { password_hash: hash }),
    attributes: Object.fromEntries(all.filter(([, value]) => value !== "")),
    otpkeys: prefixes.map(prefix => textOf("otpkeys", prefix, true) ?? "").filter(Boolean),
    enabled: flagOf(textOf("enabled", values.enabled, true) ?? ""),
    problems,
  };
}

/** Returns the boolean that a text stands for; true if it is empty, undefined if it is neither. */
export function flagOf(text: string): boolean | undefined {
  if (/^(true|t|1|yes|)$/i.test(text)) return true;
  return /^(false|f|0|no)$/i.test(text) ? false : undefined;
}
