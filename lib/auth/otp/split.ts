import { accepted, type Parsed, refused } from "../model/parsed.ts";
import { foldPrefix, isPrefix, parsePrefix, prefixMaxLength } from "../model/prefix.ts";
import type { CodeForm } from "./contract.ts";
import { type OtpKindName, otpKind, otpKindNames } from "./kinds.ts";
import { modhexPattern } from "./modhex.ts";

/** An OTP cut in two. */
export interface Cut {
  readonly prefix: string;
  readonly code: string;
}

/** What tells which cut fits a key. Without a kind the key has no secret yet, and any cut fits (decision A9). */
export interface KeyShape {
  readonly kind?: OtpKindName | undefined;
  readonly digits?: number | undefined;
}

/** Every form of every kind, once. */
const forms: readonly CodeForm[] = otpKindNames
  .flatMap(name => otpKind(name).forms)
  .filter((form, index, all) => all.findIndex(other => isSame(other, form)) === index);

/**
 * Where an OTP can be cut by the look of its end, the longest prefix first; letters folded (decisions A7, A9). An end of digits
 * leaves two cuts, one of modhex one, so that finding the key takes two reads at most, side by side.
 */
export const cuts = (otp: string): readonly Cut[] => formedCuts(otp).map(({ prefix, code }) => ({ prefix, code }));

/**
 * Cuts an OTP by the known kind of the key with that prefix (decision A7): by pattern alone, 20 characters that end in digits
 * could be 14 and 6, or 12 and 8. Where two keys fit, the longer prefix counts; who knows the user asks for that user's keys
 * first.
 * @param shapeOf answers for the prefixes of `cuts`, undefined for one that no key has
 */
export function split<S extends KeyShape>(
  otp: string,
  shapeOf: (prefix: string) => S | undefined,
): (Cut & { readonly key: S }) | undefined {
  for (const { prefix, code, form } of formedCuts(otp)) {
    const key = shapeOf(prefix);
    if (key !== undefined && fits(key, form)) return { prefix, code, key };
  }
  return undefined;
}

/**
 * A prefix to assign. A longer value that reads as an OTP, and in one way only, stands for its prefix, as existing clients send
 * it; the OTP is not checked (decision A9).
 */
export function parsePrefixOrOtp(text: string): Parsed<string> {
  const [cut, ...others] = text.length > prefixMaxLength ? cuts(text) : [];
  const prefix = others.length === 0 ? (cut?.prefix ?? parsePrefix(text)) : undefined;
  return prefix === undefined
    ? refused(`must be 1 to ${prefixMaxLength} letters and digits, or an OTP`)
    : accepted(prefix);
}

function formedCuts(otp: string): readonly (Cut & { readonly form: CodeForm })[] {
  // Folding a megabyte takes a while, and no OTP is long.
  const fitting = forms.filter(({ length }) => otp.length > length && otp.length <= length + prefixMaxLength);
  const text = fitting.length === 0 ? "" : foldPrefix(otp);
  return fitting
    .map(form => ({ form, prefix: text.slice(0, -form.length), code: text.slice(-form.length) }))
    .filter(({ form, prefix, code }) => isPrefix(prefix) && isOf(form, code))
    .sort((one, other) => other.prefix.length - one.prefix.length);
}

const isOf = ({ alphabet }: CodeForm, code: string): boolean =>
  alphabet === "digits" ? /^[0-9]*$/.test(code) : modhexPattern.test(code);

function isSame(one: CodeForm, other: CodeForm): boolean {
  return one.length === other.length && one.alphabet === other.alphabet;
}

function fits({ kind, digits }: KeyShape, form: CodeForm): boolean {
  if (kind === undefined) return true;
  return otpKind(kind).forms.some(own => isSame(own, form)) && (digits === undefined || digits === form.length);
}
