import * as z from "zod";
import { trimEnd } from "../text.ts";

// The start of the app creates the schemas of about a hundred settings. Those of one form share a schema, so that each
// setting only adds its description.
const text = z.string();
const flag = z.enum(["true", "false"], { error: "must be true or false" }).transform(value => value === "true");
const list = text.transform(value => splitList(value));
const integer = text.transform(value => (/^\d{1,15}$/.test(value) ? Number(value) : Number.NaN));
const duration = { seconds: numberOf("seconds"), days: numberOf("days") };
/** More than 100 years: the text of a time after the year 9999 does not sort. */
const maxDays = 36_500;
const days = duration.days.refine(value => value <= maxDays, { error: `must be at most ${maxDays} days` });
const period = days.refine(value => value > 0, { error: "must be more than 0 days" });
const address = text
  .refine(isAddress, { error: "must be an https address (http only on the loopback), without credentials" })
  .transform(value => trimEnd(value, "/"));
const schedule = text
  .refine(isNcrontab, { error: "must be a cron expression of six fields, seconds first" })
  .transform(value => value.trim().split(/\s+/).join(" "));

/** Schemas of single settings. Each parses the text of an environment variable. */
export const setting = {
  text: (description: string) => text.meta({ description }),
  oneOf: <const T extends readonly [string, ...string[]]>(values: T, description: string) =>
    z.enum(values, { error: `must be one of ${values.join(", ")}` }).meta({ description }),
  flag: (description: string) => flag.meta({ description }),
  /** A comma-separated list. Blanks around entries and empty entries are dropped. */
  list: (description: string) => list.meta({ description }),
  integer: (min: number, max: number, description: string) =>
    integer
      .refine(value => value >= min && value <= max, { error: `must be a whole number from ${min} to ${max}` })
      .meta({ description }),
  /**
   * Seconds or days, also fractions. The parsed value has the same unit; lib/platform/time.ts converts it to
   * milliseconds.
   */
  seconds: (description: string) => duration.seconds.meta({ description }),
  days: (description: string) => days.meta({ description }),
  /** Days of a period in which work is tried: with 0, it would end before its first attempt. */
  period: (description: string) => period.meta({ description }),
  /**
   * An absolute https URL without credentials or fragment. `readSettings` allows http on the loopback in local runs.
   */
  address: (description: string) => address.meta({ description }),
  /** A six-field NCRONTAB expression, as the host's timers use. */
  schedule: (description: string) => schedule.meta({ description }),
};

/** Splits a comma-separated list. Drops blanks around entries, and empty entries. */
export const splitList = (text: string): readonly string[] =>
  text
    .split(",")
    .map(entry => entry.trim())
    .filter(entry => entry !== "");

function numberOf(unit: "seconds" | "days") {
  return text.regex(/^\d{1,9}(\.\d{1,3})?$/, { error: `must be a number of ${unit}` }).transform(Number);
}

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
