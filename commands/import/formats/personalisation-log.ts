import { parse } from "csv-parse/sync";
import { modhexPattern, modhexToHex } from "../../../lib/auth/otpkeys/kinds/encodings.ts";
import { parseUsername } from "../../../lib/auth/users/username.ts";
import { type ReadLine, RefusedLine, readEach } from "../lines.ts";
import { checkKey, type ImportKey, notText, notTextReason, numberOf } from "./check-key.ts";
import { type EntraColumns, entraColumns, readEntraLine } from "./entra-csv.ts";
import { isOathLine, readOathLine } from "./oath-csv.ts";

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
export function readPersonalisationLog(text: string, options: LogOptions = {}): readonly ReadLine<ImportKey>[] {
  const lines = text.replace(/^\ufeff/, "").split(/\r\n|\n|\r/);
  let columns: EntraColumns | undefined;
  const readLine = (text: string): ImportKey | undefined => {
    if (text.trim() === "" || text.trimStart().startsWith("#")) return undefined;
    if (notText.test(text)) throw new RefusedLine(notTextReason);
    const all = fieldsOf(text);
    if (all.every(field => field === "")) return undefined;
    const at = (options.usernameColumn ?? Number.POSITIVE_INFINITY) - 1;
    const ofLayout = all.toSpliced(at, 1);
    // A spreadsheet ends every line with the commas of its widest one. In the traditional layout they would shift all columns.
    const fields = ofLayout.slice(0, ofLayout.findLastIndex(field => field !== "") + 1);
    const header = entraColumns(fields);
    if (header !== undefined) {
      columns = header;
      return undefined;
    }
    const key = columns === undefined ? readFields(fields, options) : readEntraLine(fields, columns, options.digits);
    return key && withUsername(key, all[at] ?? "");
  };
  return readEach(
    lines.map((text, index) => [index + 1, text] as const),
    readLine,
  );
}

/** Returns an OTP key with the user to whom it is assigned; without one for an empty name. */
function withUsername(key: ImportKey, username: string): ImportKey {
  if (username === "") return key;
  // Checked here too: Core would refuse a call with texts of another column as too large, and the run would end.
  const parsed = parseUsername(username);
  if (!parsed.ok) throw new RefusedLine(`its username ${parsed.reason}`);
  return { ...key, username };
}

function readFields(fields: readonly string[], options: LogOptions): ImportKey | undefined {
  const [first = ""] = fields;
  const event = first.toLowerCase();
  if (event === "logging start") return undefined;
  if (event === "yubico otp" || event === "oath-hotp") return readTraditional(fields, event);
  if (/^(static password|challenge-response|configuration|unknown)/.test(event)) throw new RefusedLine(isNoOtpKey);
  if (isOathLine(fields)) return readOathLine(fields, options.digits);
  if (/^[0-9]*$/.test(first) && fields.length >= 4) return readCompact(fields, options);
  throw new RefusedLine("it is of no known layout");
}

const isNoOtpKey = "it is not about a key that makes OTPs";

/**
 * Parses one line of CSV, with any separator of spreadsheets and the quotes that they add. Each line is parsed alone, so that a stray
 * quote affects no other. Throws `RefusedLine`.
 */
function fieldsOf(text: string): readonly string[] {
  try {
    const [fields = []] = parse(text, {
      trim: true,
      relaxColumnCount: true,
      delimiter: [",", ";", "\t"],
    }) as string[][];
    return fields;
  } catch {
    throw new RefusedLine("it is no line of separated values");
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

function readTraditional(fields: readonly string[], event: "yubico otp" | "oath-hotp"): ImportKey {
  const shift = Math.max(0, fields.length - traditional.count);
  const field = (name: Exclude<keyof typeof traditional, "count">) => fields[traditional[name] + shift] ?? "";
  const secret = field("secret");
  if (event === "yubico otp") return checkKey(field("public"), "yubico", { secret, privateId: field("private") });
  const inModhex = field("modhex") === "1" ? 12 : field("modhex2") === "1" ? 4 : field("modhex1") === "1" ? 2 : 0;
  return checkKey(typedIdentifier(field("public"), inModhex), "hotp", {
    secret,
    digits: numberOf(field("digits")),
    counter: numberOf(field("counter")) ?? 0,
  });
}

/** Columns of the Yubico layout; the others are lock code, times and the options of the personalisation. */
const compactColumns = 8;

/** Reads the layout: serial number, public id, private id (Yubico) or counter (OATH), secret. */
function readCompact(fields: readonly string[], { digits, identifier }: LogOptions): ImportKey {
  const [serial = "", publicId = "", third = "", fourth = ""] = fields;
  if (fields.length > compactColumns)
    throw new RefusedLine("it has a column after the last of its layout, which is not read");
  // This layout writes 0 for an absent value.
  const secret = fourth === "0" ? "" : fourth;
  if (third === "") throw new RefusedLine(isNoOtpKey);
  if (third.length === 12) return checkKey(publicId, "yubico", { secret, privateId: third });
  // A spreadsheet writes the private id 123456789012 as 1.23457E+11. The line must not become an OATH key.
  if (Number.isNaN(numberOf(third))) throw new RefusedLine("its third column is neither a private id nor a counter");
  const typed = publicId === "" && identifier !== undefined ? `${identifier}${serial.padStart(8, "0")}` : publicId;
  return checkKey(typedIdentifier(typed, hasNumber(typed) ? 4 : 12), "hotp", {
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
