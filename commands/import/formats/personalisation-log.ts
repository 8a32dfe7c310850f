import { parse } from "csv-parse/sync";
import { modhexPattern, modhexToHex } from "../../../lib/auth/otp/modhex.ts";
import { totpStepSeconds } from "../../../lib/auth/otp/totp.ts";
import { checkedKey, gathered, type LineReading, type Reading } from "./reading.ts";

/** What a log leaves out and the administrator knows. */
export interface LogOptions {
  /** Length of HOTP codes where the layout does not say; by default 6. */
  readonly digits?: 6 | 8;
  /**
   * What HOTP keys type before their serial number in 8 digits, as in `ubhe`, where the layout does not say. Without it lines
   * without a public id are refused: the same line may stand for a key that answers challenges.
   */
  readonly identifier?: string;
}

/** Reads the personalisation log that key makers ship: traditional, OATH and Yubico CSV layouts, mixed too (decision A18). */
export function readPersonalisationLog(text: string, options: LogOptions = {}): Reading {
  const lines = text.replace(/^\ufeff/, "").split(/\r\n|\n|\r/);
  return gathered(lines.map((line, index) => readLine(line, index + 1, options)));
}

function readLine(text: string, line: number, options: LogOptions): LineReading {
  if (text.trim() === "" || text.trimStart().startsWith("#")) return undefined;
  const fields = fieldsOf(text);
  const [first = ""] = fields ?? [];
  const event = first.toLowerCase();
  if (fields === undefined) return { line, reason: "it is no line of comma-separated values" };
  if (event === "logging start") return undefined;
  if (event === "yubico otp" || event === "oath-hotp") return readTraditional(fields, line, event);
  if (/^(static password|challenge-response|configuration|unknown)/.test(event)) {
    return { line, reason: "it is not about a key that makes OTPs" };
  }
  const [, second = ""] = fields;
  if (isSeed(second) && fields.length <= 5) return readSeed(fields, line, options);
  if (/^[0-9]*$/.test(first) && fields.length >= 4) return readCompact(fields, line, options);
  return { line, reason: "it is of no known layout" };
}

/** Quotes that spreadsheets add are understood; a line is read alone, so that one stray quote spoils no other. */
function fieldsOf(text: string): readonly string[] | undefined {
  try {
    const [fields] = parse(text, { trim: true, relaxColumnCount: true }) as string[][];
    return fields;
  } catch {
    return undefined;
  }
}

/** Columns of the traditional layout; those from `slot` on shift where the local form of the time has a comma. */
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

function readTraditional(fields: readonly string[], line: number, event: "yubico otp" | "oath-hotp"): LineReading {
  const shift = Math.max(0, fields.length - traditional.count);
  const field = (name: Exclude<keyof typeof traditional, "count">) => fields[traditional[name] + shift] ?? "";
  const secret = field("secret");
  if (event === "yubico otp") {
    return checkedKey(line, field("public"), "yubico", { secret, privateId: field("private") });
  }
  const inModhex = field("modhex") === "1" ? 12 : field("modhex2") === "1" ? 4 : field("modhex1") === "1" ? 2 : 0;
  return checkedKey(line, typedIdentifier(field("public"), inModhex), "hotp", {
    secret,
    digits: numberOf(field("digits")),
    counter: numberOf(field("counter")) ?? 0,
  });
}

/** Serial number, public id, then the private id of a Yubico key or the counter of an OATH key, secret. */
function readCompact(fields: readonly string[], line: number, { digits, identifier }: LogOptions): LineReading {
  const [serial = "", publicId = "", third = "", fourth = ""] = fields;
  // This layout writes 0 for what a key does not have.
  const secret = fourth === "0" ? "" : fourth;
  if (third === "") return { line, reason: "it is not about a key that makes OTPs" };
  if (third.length === 12) return checkedKey(line, publicId, "yubico", { secret, privateId: third });
  const typed = publicId === "" && identifier !== undefined ? `${identifier}${serial.padStart(8, "0")}` : publicId;
  return checkedKey(line, typedIdentifier(typed, hasNumber(typed) ? 4 : 12), "hotp", {
    secret,
    digits: digits ?? 6,
    counter: numberOf(third),
  });
}

/** Serial number, which its user types before each code, seed, `hotp` or `totp`, digits, step: of keys without a keyboard. */
function readSeed(fields: readonly string[], line: number, { digits = 6 }: LogOptions): LineReading {
  const [serial = "", seed = "", kind = "", digitsText = "", step = ""] = fields;
  const name = kind.toLowerCase() || "hotp";
  if (name !== "hotp" && name !== "totp") return { line, reason: "it is of no known kind of key" };
  if (name === "totp" && step !== "" && numberOf(step) !== totpStepSeconds) {
    return { line, reason: `its steps are not of ${totpStepSeconds} seconds` };
  }
  const length = digitsText === "" ? digits : (numberOf(digitsText) ?? 0);
  return checkedKey(line, serial, name, { secret: seed, digits: length });
}

/** Long enough that it is no public id. */
const isSeed = (text: string): boolean => /^[0-9a-fA-F]{28,}$/.test(text) && !modhexPattern.test(text);

/**
 * What an OATH key types of its identifier. The log has all of it in modhex; the key types digits after the first places. One
 * that has digits already is as typed.
 */
function typedIdentifier(publicId: string, inModhex: number): string {
  const rest = publicId.slice(inModhex);
  return modhexPattern.test(publicId) ? publicId.slice(0, inModhex) + modhexToHex(rest) : publicId;
}

/** Whether the part that usually is the serial number can be one. This layout does not say what is typed in digits. */
const hasNumber = (publicId: string): boolean => /^[cbdefghijk]*$/.test(publicId.slice(4));

const numberOf = (text: string): number | undefined => (/^[0-9]{1,10}$/.test(text) ? Number(text) : undefined);
