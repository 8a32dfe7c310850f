import type { Mail } from "./message.ts";

const defaultTop = 50;

/**
 * Returns one page of emails without their texts, the newest first.
 * @param query `search` in the subject and the addresses; `operation`, repeatable: only emails of these sends; `top`: size of the page;
 *   `skip`: how many emails precede it
 */
export function mailPage(mails: readonly Mail[], query: URLSearchParams) {
  const search = (query.get("search") ?? "").toLowerCase();
  const operations = new Set(query.getAll("operation"));
  const matching = mails
    .filter(({ operationId }) => operations.size === 0 || operations.has(operationId))
    .filter(({ subject, from, to }) => [subject, from, ...to].some(text => text.toLowerCase().includes(search)));
  const skip = Number(query.get("skip") ?? 0);
  const page = matching.toReversed().slice(skip, skip + Number(query.get("top") ?? defaultTop));
  return {
    total: mails.length,
    matching: matching.length,
    mails: page.map(({ text: _, html: __, ...mail }) => mail),
  };
}
