import * as z from "zod";
import { trimEnd } from "../trim-end.ts";
import { isNcrontab } from "./ncrontab.ts";

/** Schemas of single settings. Each parses the text of an environment variable. */
export const setting = {
  text: (description: string) => z.string().meta({ description }),
  oneOf: <const T extends readonly [string, ...string[]]>(values: T, description: string) =>
    z.enum(values, { error: `must be one of ${values.join(", ")}` }).meta({ description }),
  flag: (description: string) =>
    z
      .enum(["true", "false"], { error: "must be true or false" })
      .transform(text => text === "true")
      .meta({ description }),
  /** A comma-separated list. Blanks around entries and empty entries are dropped. */
  list: (description: string) =>
    z
      .string()
      .transform(text => splitList(text))
      .meta({ description }),
  integer: (min: number, max: number, description: string) =>
    z
      .string()
      .regex(/^\d{1,15}$/, { error: `must be a whole number from ${min} to ${max}`, abort: true })
      .transform(Number)
      .refine(value => value >= min && value <= max, { error: `must be a whole number from ${min} to ${max}` })
      .meta({ description }),
  /** Seconds or days, also fractions. The parsed value has the same unit; lib/time.ts converts it to milliseconds. */
  seconds: (description: string) => durationSetting("seconds", description),
  days: (description: string) => durationSetting("days", description),
  /**
   * An absolute https URL without credentials or fragment. `readSettings` allows http on the loopback in local runs.
   */
  address: (description: string) =>
    z
      .string()
      .refine(isAddress, { error: "must be an https address (http only on the loopback), without credentials" })
      .transform(text => trimEnd(text, "/"))
      .meta({ description }),
  /** A six-field NCRONTAB expression, as the host's timers use. */
  schedule: (description: string) =>
    z
      .string()
      .refine(isNcrontab, { error: "must be a cron expression of six fields, seconds first" })
      .transform(text => text.trim().split(/\s+/).join(" "))
      .meta({ description }),
};

/** Splits a comma-separated list. Drops blanks around entries, and empty entries. */
export const splitList = (text: string): readonly string[] =>
  text
    .split(",")
    .map(entry => entry.trim())
    .filter(entry => entry !== "");

const durationSetting = (unit: "seconds" | "days", description: string) =>
  z
    .string()
    .regex(/^\d{1,9}(\.\d{1,3})?$/, { error: `must be a number of ${unit}` })
    .transform(Number)
    .meta({ description });

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
