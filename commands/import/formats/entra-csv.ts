import { base32ToBytes } from "../../../lib/auth/otpkeys/kinds/encodings.ts";
import { RefusedLine } from "../lines.ts";
import { checkKey, type ImportKey, numberOf } from "./check-key.ts";

/** The columns that are read, and those that carry no state of an OTP key. */
const knownColumns = [
  "serialnumber",
  "secretkey",
  "timeinterval",
  "hashfunction",
  "upn",
  "manufacturer",
  "model",
] as const;
type EntraColumn = (typeof knownColumns)[number];

/** The names of the columns, in lower case and without spaces. */
export type EntraColumns = readonly string[];

/** Returns the columns if a line is the header of the layout in which Microsoft Entra ID takes OATH tokens; otherwise undefined. */
export function entraColumns(fields: readonly string[]): EntraColumns | undefined {
  const names = fields.map(field => field.toLowerCase().replace(/[\s_-]/g, ""));
  return names.includes("serialnumber") && names.includes("secretkey") ? names : undefined;
}

/** Reads a line below that header: a `totp` key, its secret in Base32. Throws `RefusedLine`. */
export function readEntraLine(fields: readonly string[], columns: EntraColumns, digits = 6): ImportKey {
  const known: readonly string[] = knownColumns;
  const unread = fields.findIndex((field, index) => field !== "" && !known.includes(columns[index] ?? ""));
  if (unread >= 0) throw new RefusedLine(`its column ${columns[unread] || unread + 1} is not read`);
  const field = (name: EntraColumn) => fields[columns.indexOf(name)] ?? "";
  const text = field("secretkey");
  const secret = base32ToBytes(text);
  if (text !== "" && secret === undefined) throw new RefusedLine("its secret key must be in Base32");
  return checkKey(field("serialnumber"), "totp", {
    secret: secret ?? "",
    digits,
    period: numberOf(field("timeinterval")) ?? 30,
    hash: field("hashfunction"),
  });
}
