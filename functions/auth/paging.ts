import * as z from "zod";
import type { Page, Range } from "../../lib/auth/store.ts";
import type { Problem } from "../../lib/platform/fault.ts";
import type { Call, Reply } from "../../lib/platform/http/call.ts";
import { shapeOf } from "../../lib/platform/http/problems.ts";
import { readQuery } from "../../lib/platform/http/read-fields.ts";
import { parseInstant, timeError } from "../../lib/platform/http/time-field.ts";
import type { Instant } from "../../lib/platform/time.ts";

/** Maximum number of entries of a page: one read of storage returns no more (A11). */
const maxPageSize = 1000;

const topError = `must be a number from 1 to ${maxPageSize}`;

/** The query parameter `$top` of every list. */
export const pageSize = z.lazy(() =>
  z
    .string()
    .regex(/^[0-9]{1,16}$/, { error: topError, abort: true })
    .transform(Number)
    .refine(value => value >= 1 && value <= maxPageSize, { error: topError })
    .meta({ shownAs: { type: "integer", minimum: 1, maximum: maxPageSize } })
    .optional()
    .describe(`Maximum number of entries, 1 to ${maxPageSize}. Without it the response is the whole list.`),
);

/** The problem of a `$skiptoken` that no response contained. */
export const notFromLink = "must be a value from the link to the next page";

/**
 * Returns the query parameters that are not in the schema of the query. Reads them from the URL, so that `__proto__` is
 * an ordinary name.
 */
export function otherParameters({ url }: Call, query: z.ZodType): readonly (readonly [string, string])[] {
  const known = shapeOf(query);
  return Object.entries(readQuery(url)).filter(([name]) => !Object.hasOwn(known, name));
}

const notPast = "must not be in the future";

/** A past time in a query: a date, which means its beginning in UTC, or a date with time and offset. */
export const pastTime = (description: string) =>
  z
    .union([z.iso.date(), z.iso.datetime({ offset: true })], {
      error: timeError("must be a date such as 2026-01-31, or a time with its zone such as 2026-01-31T10:00:00Z"),
    })
    .transform((text, context): Instant => {
      const time = parseInstant(text);
      if (time !== undefined) return time;
      context.addIssue({ code: "custom", message: notPast });
      return z.NEVER;
    })
    .optional()
    .meta({ description, shownAs: { type: "string" } });

/** Returns the problem of a time in the future, for which every entry would match. */
export const futureProblems = (field: string, time: Instant | undefined, now: Instant): Problem[] =>
  time === undefined || time <= now ? [] : [{ path: field, reason: notPast }];

/**
 * Returns a list as a plain array: the whole list, or one page with a link to the next.
 * @param address absolute URL of the list
 */
export async function listReply<T>(
  { url }: Call,
  { $top, $skiptoken }: { readonly $top?: number | undefined; readonly $skiptoken?: string | undefined },
  address: string,
  read: (range: Range) => Promise<Page<T>>,
): Promise<Reply> {
  const entries: T[] = [];
  let from = $skiptoken;
  do {
    const page = await read({ top: $top ?? Number.POSITIVE_INFINITY, ...(from !== undefined && { after: from }) });
    entries.push(...page.entries);
    from = page.next;
  } while (from !== undefined && $top === undefined);
  if (from === undefined) return { status: 200, body: entries };
  const next = new URLSearchParams(url.search);
  next.set("$skiptoken", from);
  return { status: 200, headers: { link: `<${address}?${next}>; rel="next"` }, body: entries };
}
