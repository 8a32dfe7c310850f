import { parse } from "csv-parse/sync";
import { modhexPattern, modhexToHex } from "../../../lib/auth/otpkeys/kinds/encodings.ts";
import { parseUsername } from "../../../lib/auth/users/username.ts";
import { type EntraColumns, entraColumns, readEntraLine } from "./entra-csv.ts";
import { isOathLine, readOathLine } from "./oath-csv.ts";
import {
  checkKey,
  collectLines,
  notText,
  notTextReason,
  numberOf,
  type ParsedFile,
  type ParsedLine,
} from "./parsed-lines.ts";

/** Values that a log does not contain and the administrator knows. */
export interface LogOptions {
  /** Length of HOTP codes if the layout does not contain it; default: 6. */
  readonly digits?: number;
  /**
   * What HOTP keys type before their serial number of 8 digits, such as `ubhe`, if the layout does not contain it. Without it lines
   * without a public id are refused, because they may describe a challenge-response key.
   */
  readonly identifier?: string;
  /** Number of the column, from 1, that contains the name of the OTP key's user. It is no column of any layout. */
  readonly usernameColumn?: number;
}

/** Reads a personalisation log of a key maker: traditional, Yubico, OATH and Entra CSV layouts; all but the last also mixed (A18). */
export function readPersonalisationLog(text: string, options: LogOptions = {}): ParsedFile {
  const lines = text.replace(/^\ufeff/, "").split(/\r\n|\n|\r/);
  let columns: EntraColumns | undefined;
  const readLine = (text: string, line: number): ParsedLine => {
    if (text.trim() === "" || text.trimStart().startsWith("#")) return undefined;
    if (notText.test(text)) return { line, reason: notTextReason };
    const all = fieldsOf(text);
    if (all === undefined) return { line, reason: "it is no line of separated values" };
    if (all.every(field => field === "")) return undefined;
    const { fields: columnsOfLayout, username } = withoutUsername(all, options);
    // A spreadsheet ends every line with the commas of its widest one. In the traditional layout they would shift all columns.
    const fields = columnsOfLayout.slice(0, columnsOfLayout.findLastIndex(field => field !== "") + 1);
    const header = entraColumns(fields);
    if (header !== undefined) {
      columns = header;
      return undefined;
    }
    const key =
      columns === undefined ? readFields(fields, line, options) : readEntraLine(fields, line, columns, options.digits);
    return withUsername(key, line, username);
  };
  return collectLines(lines.map((line, index) => readLine(line, index + 1)));
}

function withUsername(key: ParsedLine, line: number, username: string): ParsedLine {
  if (key === undefined || !("prefix" in key) || username === "") return key;
  // Checked here too: Core would refuse a call with texts of another column as too large, and the run would end.
  const parsed = parseUsername(username);
  return parsed.ok ? { ...key, username } : { line, reason: `its username ${parsed.reason}` };
}

/** Returns the fields without that of the username. An empty username assigns the OTP key to no user. */
function withoutUsername(fields: readonly string[], { usernameColumn }: LogOptions) {
  const isUsername = (_: string, index: number) => index + 1 === usernameColumn;
  const [username = ""] = fields.filter(isUsername);
  return { fields: fields.filter((field, index) => !isUsername(field, index)), username };
}

function readFields(fields: readonly string[], line: number, options: LogOptions): ParsedLine {
  const [first = ""] = fields;
  const event = first.toLowerCase();
  if (event === "logging start") return undefined;
  if (event === "yubico otp" || event === "oath-hotp") return readTraditional(fields, line, event);
  if (/^(static password|challenge-response|configuration|unknown)/.test(event)) {
    return { line, reason: "it is not about a key that makes OTPs" };
  }
  if (isOathLine(fields)) return readOathLine(fields, line, options.digits);
  if (/^[0-9]*$/.test(first) && fields.length >= 4) return readCompact(fields, line, options);
  return { line, reason: "it is of no known layout" };
}

/**
 * Parses one line of CSV, with any separator of spreadsheets and the quotes that they add. Each line is parsed alone, so that a stray
 * quote affects no other.
 */
function fieldsOf(text: string): readonly string[] | undefined {
  try {
    const [fields] = parse(text, { trim: true, relaxColumnCount: true, delimiter: [",", ";", "\t"] }) as string[][];
    return fields;
  } catch {
    return undefined;
  }
}

/** Columns of the traditional layout. They shift if the time in the first column contains a comma. */
const traditional = {
  count: 18,
  public: 3,
  private: 4,
  secret: 5,
  modhex1: 8,
  modhex2: 9,
  modhex: 10,
  digits: 11,
  counter: 12,
};

function readTraditional(fields: readonly string[], line: number, event: "yubico otp" | "oath-hotp"): ParsedLine {
  const shift = Math.max(0, fields.length - traditional.count);
  const field = (name: Exclude<keyof typeof traditional, "count">) => fields[traditional[name] + shift] ?? "";
  const secret = field("secret");
  if (event === "yubico otp") {
    return checkKey(line, field("public"), "yubico", { secret, privateId: field("private") });
  }
  const inModhex = field("modhex") === "1" ? 12 : field("modhex2") === "1" ? 4 : field("modhex1") === "1" ? 2 : 0;
  return checkKey(line, typedIdentifier(field("public"), inModhex), "hotp", {
    secret,
    digits: numberOf(field("digits")),
    counter: numberOf(field("counter")) ?? 0,
  });
}

/** Columns of the Yubico layout; the others are lock code, times and the options of the personalisation. */
const compactColumns = 8;

/** Reads the layout: serial number, public id, private id (Yubico) or counter (OATH), secret. */
function readCompact(fields: readonly string[], line: number, { digits, identifier }: LogOptions): ParsedLine {
  const [serial = "", publicId = "", third = "", fourth = ""] = fields;
  if (fields.length > compactColumns)
    return { line, reason: "it has a column after the last of its layout, which is not read" };
  // This layout writes 0 for an absent value.
  const secret = fourth === "0" ? "" : fourth;
  if (third === "") return { line, reason: "it is not about a key that makes OTPs" };
  if (third.length === 12) return checkKey(line, publicId, "yubico", { secret, privateId: third });
  // A spreadsheet writes the private id 123456789012 as 1.23457E+11. The line must not become an OATH key.
  if (Number.isNaN(numberOf(third))) return { line, reason: "its third column is neither a private id nor a counter" };
  const typed = publicId === "" && identifier !== undefined ? `${identifier}${serial.padStart(8, "0")}` : publicId;
  return checkKey(line, typedIdentifier(typed, hasNumber(typed) ? 4 : 12), "hotp", {
    secret,
    digits: digits ?? 6,
    counter: numberOf(third),
  });
}

/**
 * Returns the identifier as an OATH key types it. The log contains it in modhex; the key types the first characters in modhex and the
 * rest in digits. An identifier with digits is already in the typed form.
 */
function typedIdentifier(publicId: string, inModhex: number): string {
  const rest = publicId.slice(inModhex);
  return modhexPattern.test(publicId) ? publicId.slice(0, inModhex) + modhexToHex(rest) : publicId;
}

/** Returns whether the rest of an identifier can be a serial number. This layout does not say which part is typed in digits. */
const hasNumber = (publicId: string): boolean => /^[cbdefghijk]*$/.test(publicId.slice(4));
