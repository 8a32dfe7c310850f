import * as z from "zod";
import { hasControlCharacters, hasHiddenCharacters, withoutHiddenCharacters } from "../../platform/text.ts";

/** The maximum sizes of a request (C5). Security keys are counted by quantity. */
export const requestLimits = { keys: 50, credentialsPerKey: 20, credentials: 100, emailsTo: 20 } as const;

/** A field that may be missing or null (decision G4). */
export const optional = <T extends z.ZodType>(schema: T) => z.preprocess(nullAsAbsent, schema.optional());

/** A field with a default value if it is missing or null. */
export const withDefault = <T extends z.ZodType>(schema: T, value: z.core.util.NoUndefined<z.output<T>>) =>
  z.preprocess(nullAsAbsent, schema.default(value));

function nullAsAbsent(value: unknown): unknown {
  return value ?? undefined;
}

/**
 * A list of 1 to `max` elements. One that is too long is refused without a look at its elements, so that a hostile body
 * costs little; by a transform, because the validator's own shortcut would also skip the checks of every object around
 * it.
 */
export const listOf = <T extends z.ZodType>(element: T, max: number) =>
  z.preprocess((value, context) => {
    if (!Array.isArray(value) || value.length <= max) return value;
    context.issues.push({ code: "too_big", origin: "array", maximum: max, inclusive: true, input: value });
    return z.NEVER;
  }, z.array(element).min(1).max(max));

/** An object with fields of any type: rules across fields run although single fields are wrong. */
export type Fields = Readonly<Record<string, unknown>>;

/**
 * Option of a check of several fields of an object: it runs also if fields are invalid, so that all problems are
 * reported together (C1). The values that it gets may therefore be of any type.
 */
export const evenIfInvalid = {
  when: ({ value }: { readonly value: unknown }): boolean =>
    typeof value === "object" && value !== null && !Array.isArray(value),
};

/**
 * Maximum length, in Unicode code points, of text that the specification does not limit. It is above every limit of the
 * delivery service, so that a text that is too long for that service alone is refused with its error code (decision
 * C5).
 */
const textLimit = 255;

/** Outer white space counts too. A check of the characters of 1 MiB would take up to 25 ms. */
const rawTextLimit = 1024;

/** Text without control characters or line breaks. */
export const text = () =>
  z
    .string()
    .max(rawTextLimit, { abort: true })
    .refine(value => !hasControlCharacters(value), { error: "must not contain control characters" });

/** Text on one line, without outer white space and hidden characters; may be blank. */
export const line = (max = textLimit) => text().overwrite(withoutHiddenCharacters).trim().max(max);

/** Text on one line that is not blank. */
export const nonEmptyLine = (max = textLimit) => line(max).min(1, { error: "must not be blank" });

/** A user at an IdP. Hidden characters are refused, because without them it could be another user. */
export const userId = () =>
  text()
    .refine(value => !hasHiddenCharacters(value), { error: "must not contain invisible or direction characters" })
    .trim()
    .min(1, { error: "must not be blank" })
    .max(textLimit);

/** Optional text on one line; blank is as if absent, because callers fill templates. */
export const optionalLine = (max = textLimit) => optional(line(max).transform(blankAsAbsent));

const emailPattern =
  /^[A-Za-z0-9!#$%&'*+/=?^_`{|}~-]+(?:\.[A-Za-z0-9!#$%&'*+/=?^_`{|}~-]+)*@(?:[A-Za-z0-9](?:[A-Za-z0-9-]{0,61}[A-Za-z0-9])?\.)+[A-Za-z][A-Za-z0-9-]{0,61}[A-Za-z0-9]$/;

/**
 * A mailbox of RFC 5321: dot-atom local part of at most 64 characters, host name with a top-level domain, 254 in all.
 * Neither quoted local parts nor address literals, which mail services seldom take; international domains in their
 * `xn--` form.
 */
export const email = () =>
  line(254)
    .check(z.email({ pattern: emailPattern, error: "must be an email address" }))
    .refine(value => value.indexOf("@") <= 64, { error: "must have at most 64 characters before the @" });

/** Who gets the PIN email: each address once. */
export const emailsTo = () =>
  listOf(email(), requestLimits.emailsTo).superRefine(differentAddresses, {
    when: ({ value }) => Array.isArray(value),
  });

/** Addresses are different if they differ in lower case: mail services in use ignore case. */
function differentAddresses(addresses: readonly unknown[], context: z.core.$RefinementCtx): void {
  const first = new Map<string, number>();
  for (const [index, address] of addresses.entries()) {
    if (typeof address !== "string") continue;
    const same = first.get(address.toLowerCase());
    if (same === undefined) first.set(address.toLowerCase(), index);
    else context.addIssue({ code: "custom", path: [index], message: `must differ from element ${same}` });
  }
}

/** For the carrier: digits, `+`, `(`, `)`, and dashes, which are discouraged (specification section 2). */
export const telephone = () =>
  line(40).regex(/^[+()-]*[0-9][+()0-9-]*$/, {
    error: "must have at least one digit and otherwise only digits, +, ( and ) without blanks (dashes are accepted)",
  });

/** Custom name of a key; `<name>: <serial>` is what the IdP shows (specification section 8). Blank is as if absent. */
export const keyName = () =>
  optional(
    line(18)
      .regex(/^[ -~]*$/, { error: "must have ASCII characters only" })
      .transform(blankAsAbsent),
  );

/** Not empty, but a space passes, for countries without postal codes. */
export const postalCode = () =>
  text()
    .min(1, { error: "must not be empty (a space is accepted)" })
    .max(50)
    .transform(value => withoutHiddenCharacters(value).trim() || " ");

/** An id that the delivery service takes as an integer (decision C11a). */
export const digits = () => z.string().regex(/^[0-9]{1,9}$/, { error: "must be a string of 1 to 9 digits" });

/** Number of PIN characters (specification section 8). */
export const pinLength = () => z.int().min(4).max(63);

/** The PIN length if the request gives none (specification section 2). */
export const defaultPinLength = 6;

/** Returns a check that names are blank only if there is a company. Used with `evenIfInvalid`. */
export const namesOrCompany =
  (names: readonly string[], company: string) =>
  (recipient: Fields, context: z.core.$RefinementCtx): void => {
    if (recipient[company] !== undefined) return;
    for (const name of names.filter(name => recipient[name] === "")) {
      context.addIssue({ code: "custom", path: [name], message: `must not be blank where ${company} is blank` });
    }
  };

function blankAsAbsent(value: string): string | undefined {
  return value === "" ? undefined : value;
}
