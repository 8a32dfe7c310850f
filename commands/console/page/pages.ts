import { useState } from "preact/hooks";
import { type Outcome, readHost } from "./calls.ts";
import { Button } from "./forms/button.ts";
import { html, useLive } from "./ui.ts";

const pageSize = 50;

/** Reads a list of an API page by page. Returns the current page and its buttons. @param query of the list's filters */
export function usePages<T>(path: string, query: string, everyMs = 3000) {
  const first: readonly string[] = [];
  const [turned, setTurned] = useState({ query, tokens: first });
  // Other filters begin with the first page.
  const tokens = turned.query === query ? turned.tokens : first;
  const token = tokens.at(-1);
  const search = new URLSearchParams(query);
  search.set("$top", String(pageSize));
  if (token !== undefined) search.set("$skiptoken", token);
  const live = useLive<Outcome<readonly T[]>>(
    signal => readHost(`${path}?${search}`, signal),
    [path, String(search)],
    everyMs,
  );
  const [, link] = /^<([^>]+)>; rel="next"$/.exec(live.data?.headers.link ?? "") ?? [];
  const next = link === undefined ? null : new URL(link).searchParams.get("$skiptoken");
  const turn = (to: readonly string[]) => async () => setTurned({ query, tokens: to });
  const pager = html`<div class="pager">
    <span>Page ${tokens.length + 1}</span>
    ${tokens.length > 0 && html`<${Button} label="Previous" run=${turn(tokens.slice(0, -1))} />`}
    ${next !== null && html`<${Button} label="Next" run=${turn([...tokens, next])} />`}
  </div>`;
  return { live, pager: tokens.length > 0 || next !== null ? pager : undefined };
}
