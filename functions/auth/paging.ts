import type { Page, Range } from "../../lib/auth/ports.ts";
import { Fault } from "../../lib/fault.ts";
import type { Call, Reply } from "../../lib/http/call.ts";

/** The most that one read of storage brings when the whole list is wanted. */
const wholePage = 1000;

/** `$top` and `$skiptoken` of a list (decision A11). Throws Fault `invalid`. */
export function pageOf(query: Readonly<Record<string, unknown>>): { readonly top?: number; readonly after?: number } {
  const top = query["$top"];
  const token = query["$skiptoken"];
  const problems = [
    ...(top === undefined || isWithin(top, 1, 1000)
      ? []
      : [{ path: "$top", reason: "must be a number from 1 to 1000" }]),
    ...(token === undefined || isWithin(token, 1, Number.MAX_SAFE_INTEGER)
      ? []
      : [{ path: "$skiptoken", reason: "must be one that a list gave" }]),
  ];
  if (problems.length > 0) throw new Fault("invalid", "The request is not valid.", { problems });
  return { ...(top !== undefined && { top: Number(top) }), ...(token !== undefined && { after: Number(token) }) };
}

const isWithin = (value: unknown, least: number, most: number): boolean =>
  typeof value === "string" && /^[0-9]{1,16}$/.test(value) && Number(value) >= least && Number(value) <= most;

/** A list as a plain array, whole or one page of it with a link to the next (decision A11). */
export async function listReply<T>(
  { url }: Call,
  { top, after }: { readonly top?: number; readonly after?: number },
  coreUrl: string,
  read: (range: Range) => Promise<Page<T>>,
): Promise<Reply> {
  if (top !== undefined) {
    const page = await read({ top, ...(after !== undefined && { after }) });
    if (page.next === undefined) return { status: 200, body: page.entries };
    const next = new URLSearchParams(url.search);
    next.set("$skiptoken", String(page.next));
    const path = url.pathname.slice(url.pathname.lastIndexOf("/"));
    return { status: 200, headers: { link: `<${coreUrl}${path}?${next}>; rel="next"` }, body: page.entries };
  }
  const entries: T[] = [];
  let from = after;
  do {
    const page: Page<T> = await read({ top: wholePage, ...(from !== undefined && { after: from }) });
    entries.push(...page.entries);
    from = page.next;
  } while (from !== undefined);
  return { status: 200, body: entries };
}
