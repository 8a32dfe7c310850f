import { parsePrefix } from "../../../lib/auth/model/prefix.ts";
import type { KeyDraft } from "../../../lib/auth/otp/contract.ts";
import { type OtpKindName, otpKind } from "../../../lib/auth/otp/kinds.ts";

/** A key that a file describes, checked as Core will check it (decision A18). */
export interface ImportKey extends KeyDraft {
  /** Where it stands in the file, from 1. */
  readonly line: number;
  readonly prefix: string;
  readonly kind: OtpKindName;
}

/** A line that describes no key that can be imported. The reason tells nothing of a secret. */
export interface RefusedLine {
  readonly line: number;
  readonly reason: string;
}

export interface Reading {
  readonly keys: readonly ImportKey[];
  readonly refused: readonly RefusedLine[];
}

/** What a reader makes of one place in a file; undefined where nothing is meant to be a key. */
export type LineReading = ImportKey | RefusedLine | undefined;

/** A key as a file writes it: bytes, or their text in hex, empty where there is none. */
interface WrittenKey extends Pick<KeyDraft, "digits" | "counter"> {
  readonly secret: Uint8Array | string;
  readonly privateId?: string;
}

/** Checks a key by the rules of its kind and of prefixes (decisions A7 and A9). */
export function checkedKey(
  line: number,
  prefixText: string,
  kind: OtpKindName,
  written: WrittenKey,
): ImportKey | RefusedLine {
  if (prefixText === "") return { line, reason: "it names no prefix, so its OTPs could not be told from others'" };
  const prefix = parsePrefix(prefixText);
  if (prefix === undefined) return { line, reason: "its prefix is not 1 to 32 letters and digits" };
  const { secret, privateId, ...rest } = written;
  const draft: KeyDraft = {
    ...rest,
    secret: typeof secret === "string" ? bytesOfHex(secret) : secret,
    ...(privateId !== undefined && { privateId: bytesOfHex(privateId) }),
  };
  const prepared = otpKind(kind).prepare(draft);
  if (prepared.ok) return { line, prefix, kind, ...draft };
  const isUnread = (field: keyof KeyDraft) => (written[field] ?? "") !== "" && draft[field] === undefined;
  const reasons = prepared.problems.map(
    ({ field, reason }) => `${fieldNames[field]} ${isUnread(field) ? "must be in hex" : reason}`,
  );
  return { line, reason: reasons.join("; ") };
}

const fieldNames = { secret: "its secret", privateId: "its private id", digits: "its digits", counter: "its counter" };

/**
 * Gathers a file. A personalisation log grows at its end, so of several lines with one prefix the last one is what the key holds
 * now.
 */
export function gathered(lines: readonly LineReading[]): Reading {
  const found = lines.filter(line => line !== undefined);
  const last = new Map(found.flatMap(line => ("prefix" in line ? [[line.prefix, line.line] as const] : [])));
  const keys = found.filter(line => "prefix" in line).filter(key => last.get(key.prefix) === key.line);
  const refused = found.flatMap((line): RefusedLine[] => {
    if (!("prefix" in line)) return [line];
    const later = last.get(line.prefix);
    return later === line.line
      ? []
      : [{ line: line.line, reason: `line ${later} has the same prefix, and the last one counts` }];
  });
  return { keys, refused };
}

/** Bytes of an even number of hexadecimal digits. Undefined for anything else. */
const bytesOfHex = (text: string): Uint8Array | undefined =>
  /^(?:[0-9a-fA-F]{2})+$/.test(text) ? new Uint8Array(Buffer.from(text, "hex")) : undefined;
