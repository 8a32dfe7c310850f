import * as z from "zod";
import { type Instant, instant } from "../time.ts";

const example = "must be a time in ISO 8601 with its zone, such as 2031-01-31T12:00:00Z";

/**
 * Returns the error of a time in a query or form: `message`, with a hint if the time seems to have lost the + of its
 * zone.
 */
export const timeError =
  (message: string) =>
  ({ input }: { readonly input?: unknown }): string =>
    typeof input === "string" && / \d\d:?\d\d$/.test(input)
      ? `${message}. In a query or form, the + of a zone is written as %2B`
      : message;

/**
 * Returns the instant of a time in ISO 8601; undefined if its year in UTC has more than four digits: instants compare
 * as text.
 */
export function parseInstant(text: string): Instant | undefined {
  const time = instant(Date.parse(text));
  return /^\d{4}-/.test(time) ? time : undefined;
}

/** A time in ISO 8601 as a field. An absent value is left to the schema around it. */
export const timeField = z.iso
  .datetime({ offset: true, error: issue => (issue.input === undefined ? undefined : timeError(example)(issue)) })
  .transform((text, context) => {
    const time = parseInstant(text);
    if (time !== undefined) return time;
    context.addIssue({ code: "custom", message: "must be in a year up to 9999 in UTC" });
    return z.NEVER;
  });
