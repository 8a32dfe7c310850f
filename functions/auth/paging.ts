import * as z from "zod";
import type { Page, Range } from "../../lib/auth/store.ts";
import { Fault } from "../../lib/fault.ts";
import type { Call, Reply } from "../../lib/http/call.ts";
import { readQuery } from "../../lib/http/parse/read-pairs.ts";

/** Maximum number of entries of a page: one read of storage returns no more (A11). */
const maxPageSize = 1000;

const number = (max: number, error: string) =>
  z
    .string()
    .regex(/^[0-9]{1,16}$/, { error, abort: true })
    .transform(Number)
    .refine(value => value >= 1 && value <= max, { error })
    .meta({ shownAs: { type: "integer", minimum: 1, maximum: max } })
    .optional();

/** Query parameters of every list. */
export const paging = {
  $top: number(maxPageSize, `must be a number from 1 to ${maxPageSize}`).describe(
    `Maximum number of entries, 1 to ${maxPageSize}. Without it the response is the whole list.`,
  ),
  $skiptoken: number(Number.MAX_SAFE_INTEGER, "must be a value from the link to the next page").describe(
    "Start of the page, from the link to it.",
  ),
};

export interface Paging {
  readonly $top?: number | undefined;
  readonly $skiptoken?: number | undefined;
}

/** Returns the query parameters that are filters. Throws Fault `invalid` for an unknown option. */
export function filtersOf(call: Call): readonly (readonly [string, string])[] {
  rejectUnknownOptions(call);
  return parametersBesidePaging(call);
}

/**
 * Throws Fault `invalid` for an unknown query parameter whose name begins with `$`: ignoring it would return a complete list that
 * looks filtered.
 */
export function rejectUnknownOptions(call: Call): void {
  const problems = parametersBesidePaging(call)
    .filter(([name]) => name.startsWith("$"))
    .map(([name]) => ({ path: name, reason: "is not known: lists accept $top and $skiptoken" }));
  if (problems.length > 0) throw new Fault("invalid", "The request is not valid.", { problems });
}

/** Reads the parameters from the URL, so that `__proto__` is an ordinary name. */
const parametersBesidePaging = ({ url }: Call): readonly (readonly [string, string])[] =>
  Object.entries(readQuery(url)).filter(([name]) => !Object.hasOwn(paging, name));

/**
 * Returns a list as a plain array: the whole list, or one page with a link to the next.
 * @param address absolute URL of the list
 */
export async function listReply<T>(
  { url }: Call,
  { $top, $skiptoken }: Paging,
  address: string,
  read: (range: Range) => Promise<Page<T>>,
): Promise<Reply> {
  if ($top !== undefined) {
    const page = await read({ top: $top, ...($skiptoken !== undefined && { after: $skiptoken }) });
    if (page.next === undefined) return { status: 200, body: page.entries };
    const next = new URLSearchParams(url.search);
    next.set("$skiptoken", String(page.next));
    return { status: 200, headers: { link: `<${address}?${next}>; rel="next"` }, body: page.entries };
  }
  const entries: T[] = [];
  let from = $skiptoken;
  do {
    const page: Page<T> = await read({ top: maxPageSize, ...(from !== undefined && { after: from }) });
    entries.push(...page.entries);
    from = page.next;
  } while (from !== undefined);
  return { status: 200, body: entries };
}
