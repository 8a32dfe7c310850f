import * as z from "zod";
import type { Page, Range } from "../../lib/auth/store.ts";
import { Fault } from "../../lib/fault.ts";
import type { Call, Reply } from "../../lib/http/call.ts";
import { readQuery } from "../../lib/http/parse/read-pairs.ts";

/** The most that one read of storage brings, and that one page may have (decision A11). */
const wholePage = 1000;

const number = (most: number, error: string) =>
  z
    .string()
    .regex(/^[0-9]{1,16}$/, { error, abort: true })
    .transform(Number)
    .refine(value => value >= 1 && value <= most, { error })
    .optional();

/** How every list is paged. */
export const paging = {
  $top: number(wholePage, `must be a number from 1 to ${wholePage}`).describe(
    `Most entries of a page, 1 to ${wholePage}; without it the whole list comes.`,
  ),
  $skiptoken: number(Number.MAX_SAFE_INTEGER, "must be one that a list gave").describe(
    "Where the page begins: from the link to it.",
  ),
};

export interface Paging {
  readonly $top?: number | undefined;
  readonly $skiptoken?: number | undefined;
}

/**
 * The query's names that are not about paging, with their values. Read from the address, because `__proto__` is a name like others.
 * Throws Fault `invalid` for another name that begins with `$`: a list that looks filtered and is whole does harm.
 */
export function filtersOf({ url }: Call): readonly (readonly [string, string])[] {
  const filters = Object.entries(readQuery(url)).filter(([name]) => !Object.hasOwn(paging, name));
  const problems = filters
    .filter(([name]) => name.startsWith("$"))
    .map(([name]) => ({ path: name, reason: "is not known: $top and $skiptoken page a list" }));
  if (problems.length > 0) throw new Fault("invalid", "The request is not valid.", { problems });
  return filters;
}

/**
 * A list as a plain array, whole or one page of it with a link to the next (decision A11).
 * @param address of the list, absolute
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
    const page: Page<T> = await read({ top: wholePage, ...(from !== undefined && { after: from }) });
    entries.push(...page.entries);
    from = page.next;
  } while (from !== undefined);
  return { status: 200, body: entries };
}
