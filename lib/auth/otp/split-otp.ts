import { accepted, type Parsed, refused } from "../model/parsed.ts";
import { foldPrefix, isPrefix, parsePrefix, prefixMaxLength } from "../model/prefix.ts";
import type { CodeForm } from "./contract.ts";
import { type OtpKindName, otpKind, otpKindNames } from "./kinds.ts";
import { modhexPattern } from "./modhex.ts";

/** An OTP split into prefix and code. */
export interface Cut {
  readonly prefix: string;
  readonly code: string;
}

/** What decides which split matches an OTP key. A key without a kind has no secret yet, and every split matches (A9). */
export interface KeyShape {
  readonly kind?: OtpKindName | undefined;
  readonly digits?: number | undefined;
}

/** The forms of all kinds, without duplicates. */
const forms: readonly CodeForm[] = otpKindNames
  .flatMap(name => otpKind(name).forms)
  .filter((form, index, all) => all.findIndex(other => isSame(other, form)) === index);

/**
 * Returns the possible splits of an OTP by the form of its end, the longest prefix first, with folded letters (A7). Digits at
 * the end allow three splits, modhex one, so that finding the OTP key takes at most three reads in parallel.
 */
export const possibleCuts = (otp: string): readonly Cut[] =>
  formedCuts(otp).map(({ prefix, code }) => ({ prefix, code }));

/**
 * Splits an OTP by the kind of the OTP key with that prefix. The pattern alone is not enough: 20 characters that end in digits
 * could be 14 and 6, 13 and 7, or 12 and 8. If two keys match, the longer prefix wins; a caller that knows the user passes that user's
 * keys first.
 * @param shapeOf returns the shape of the key with a prefix of `possibleCuts`, undefined for an unknown prefix
 */
export function splitOtp<S extends KeyShape>(
  otp: string,
  shapeOf: (prefix: string) => S | undefined,
): (Cut & { readonly key: S }) | undefined {
  for (const { prefix, code, form } of formedCuts(otp)) {
    const key = shapeOf(prefix);
    if (key !== undefined && matchesKey(key, form)) return { prefix, code, key };
  }
  return undefined;
}

/**
 * Parses a prefix to assign. Existing clients may send an OTP instead: a longer value that can be split in exactly one way is taken
 * as its prefix, and the OTP is not checked.
 */
export function parsePrefixOrOtp(text: string): Parsed<string> {
  const [cut, ...others] = text.length > prefixMaxLength ? possibleCuts(text) : [];
  const prefix = others.length === 0 ? (cut?.prefix ?? parsePrefix(text)) : undefined;
  return prefix === undefined
    ? refused(`must be 1 to ${prefixMaxLength} letters and digits, or an OTP`)
    : accepted(prefix);
}

function formedCuts(otp: string): readonly (Cut & { readonly form: CodeForm })[] {
  // Check the length first: folding a megabyte is slow, and an OTP is short.
  const fitting = forms.filter(({ length }) => otp.length > length && otp.length <= length + prefixMaxLength);
  const text = fitting.length === 0 ? "" : foldPrefix(otp);
  return fitting
    .map(form => ({ form, prefix: text.slice(0, -form.length), code: text.slice(-form.length) }))
    .filter(({ form, prefix, code }) => isPrefix(prefix) && matchesAlphabet(form, code))
    .sort((one, other) => other.prefix.length - one.prefix.length);
}

const matchesAlphabet = ({ alphabet }: CodeForm, code: string): boolean =>
  alphabet === "digits" ? /^[0-9]*$/.test(code) : modhexPattern.test(code);

function isSame(one: CodeForm, other: CodeForm): boolean {
  return one.length === other.length && one.alphabet === other.alphabet;
}

function matchesKey({ kind, digits }: KeyShape, form: CodeForm): boolean {
  if (kind === undefined) return true;
  return otpKind(kind).forms.some(own => isSame(own, form)) && (digits === undefined || digits === form.length);
}
