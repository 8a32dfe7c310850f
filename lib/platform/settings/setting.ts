import { accepted, type Parsed, refused } from "../fault.ts";
import { trimEnd } from "../text.ts";

/**
 * Reads one setting from the text of its environment variable. Not a zod schema: the start of the app creates about a
 * hundred settings, and their schemas took a twentieth of its CPU time.
 */
export interface Setting<T> {
  readonly description: string;
  /** Read if the variable is not set. */
  readonly defaultText?: string;
  /** Whether the variable may be missing though there is no default. */
  readonly isOptional?: boolean;
  parse(text: string): Parsed<T>;
  /** @param reason the rest of a sentence that begins with the name of the setting */
  refine(isValid: (value: T) => boolean, reason: string): Setting<T>;
  transform<U>(convert: (value: T) => U): Setting<U>;
  withDefault(text: string): Setting<T>;
  optional(): Setting<T | undefined>;
}

function define<T>(
  parse: Setting<T>["parse"],
  about: Pick<Setting<T>, "description" | "defaultText" | "isOptional">,
): Setting<T> {
  const then = <U>(next: (value: T) => Parsed<U>) =>
    define<U>(text => {
      const parsed = parse(text);
      return parsed.ok ? next(parsed.value) : parsed;
    }, about);
  return {
    ...about,
    parse,
    refine: (isValid, reason) => then(value => (isValid(value) ? accepted(value) : refused(reason))),
    transform: convert => then(value => accepted(convert(value))),
    withDefault: defaultText => define(parse, { ...about, defaultText }),
    optional: () => define<T | undefined>(parse, { ...about, isOptional: true }),
  };
}

const text = (description: string): Setting<string> => define(accepted, { description });

const oneOf = <const T extends string>(values: readonly T[], description: string): Setting<T> =>
  text(description)
    .refine(value => values.some(one => one === value), `must be one of ${values.join(", ")}`)
    .transform(value => value as T);

const duration = (unit: "seconds" | "days", description: string): Setting<number> =>
  text(description)
    .refine(value => /^\d{1,9}(\.\d{1,3})?$/.test(value), `must be a number of ${unit}`)
    .transform(Number);

/** More than 100 years: the text of a time after the year 9999 does not sort. */
const maxDays = 36_500;

const days = (description: string): Setting<number> =>
  duration("days", description).refine(value => value <= maxDays, `must be at most ${maxDays} days`);

/** Settings by their form. */
export const setting = {
  text,
  oneOf,
  flag: (description: string): Setting<boolean> =>
    text(description)
      .refine(value => value === "true" || value === "false", "must be true or false")
      .transform(value => value === "true"),
  /** A comma-separated list. Blanks around entries and empty entries are dropped. */
  list: (description: string): Setting<readonly string[]> => text(description).transform(splitList),
  integer: (min: number, max: number, description: string): Setting<number> =>
    text(description)
      .transform(value => (/^\d{1,15}$/.test(value) ? Number(value) : Number.NaN))
      .refine(value => value >= min && value <= max, `must be a whole number from ${min} to ${max}`),
  /**
   * Seconds or days, also fractions. The parsed value has the same unit; lib/platform/time.ts converts it to
   * milliseconds.
   */
  seconds: (description: string): Setting<number> => duration("seconds", description),
  days,
  /** Days of a period in which work is tried: with 0, it would end before its first attempt. */
  period: (description: string): Setting<number> =>
    days(description).refine(value => value > 0, "must be more than 0 days"),
  /**
   * An absolute https URL without credentials or fragment. `readSettings` allows http on the loopback in local runs.
   */
  address: (description: string): Setting<string> =>
    text(description)
      .refine(isAddress, "must be an https address (http only on the loopback), without credentials")
      .transform(value => trimEnd(value, "/")),
  /** A six-field NCRONTAB expression, as the host's timers use. */
  schedule: (description: string): Setting<string> =>
    text(description)
      .refine(isNcrontab, "must be a cron expression of six fields, seconds first")
      .transform(withSingleBlanks),
};

/** Returns a cron expression with one blank between its fields. */
export const withSingleBlanks = (value: string): string => value.trim().split(/\s+/).join(" ");

/** Splits a comma-separated list. Drops blanks around entries, and empty entries. */
export const splitList = (text: string): readonly string[] =>
  text
    .split(",")
    .map(entry => entry.trim())
    .filter(entry => entry !== "");

/** Returns whether a text is an absolute https URL, or an http URL on the loopback, without credentials or fragment. */
export function isAddress(text: string): boolean {
  if (!URL.canParse(text)) return false;
  const url = new URL(text);
  const isSchemeAllowed = url.protocol === "https:" || isHttpOnLoopback(text);
  return isSchemeAllowed && url.username === "" && url.password === "" && url.hash === "";
}

/**
 * Returns whether a text is an http URL on the loopback, also in another form of the address, such as `http://127.1`.
 */
export function isHttpOnLoopback(text: string): boolean {
  const url = URL.parse(text);
  return url?.protocol === "http:" && ["127.0.0.1", "localhost"].includes(url.hostname);
}

interface Field {
  readonly min: number;
  readonly max: number;
  /** Names of the values from `min` on. */
  readonly names?: readonly string[];
}

const weekdays = ["sun", "mon", "tue", "wed", "thu", "fri", "sat"];
const months = ["jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"];

const fields: readonly Field[] = [
  { min: 0, max: 59 },
  { min: 0, max: 59 },
  { min: 0, max: 23 },
  { min: 1, max: 31 },
  { min: 1, max: 12, names: months },
  { min: 0, max: 6, names: weekdays },
];

/**
 * Returns whether a text is a six-field NCRONTAB expression, seconds first. The host only logs an invalid schedule and
 * never runs the timer, so the settings check it.
 */
export function isNcrontab(text: string): boolean {
  const parts = text.trim().split(/\s+/);
  return parts.length === fields.length && fields.every((field, index) => isField(parts[index] ?? "", field));
}

const isField = (text: string, field: Field): boolean => text.split(",").every(part => isPart(part, field));

/** Returns whether a text is `*`, a value or a range, each with an optional step. */
function isPart(part: string, field: Field): boolean {
  const [, from = "", to = from, step = "1"] = /^(\*|\w+)(?:-(\w+))?(?:\/(\d{1,2}))?$/.exec(part) ?? [];
  if (Number(step) < 1 || Number(step) > field.max) return false;
  if (from === "*") return to === from;
  const [low, high] = [parseValue(from, field), parseValue(to, field)];
  return low !== undefined && high !== undefined && low <= high;
}

function parseValue(text: string, { min: least, max: most, names = [] }: Field): number | undefined {
  const named = names.indexOf(text.toLowerCase());
  if (named !== -1) return least + named;
  const value = /^\d{1,2}$/.test(text) ? Number(text) : Number.NaN;
  return value >= least && value <= most ? value : undefined;
}
