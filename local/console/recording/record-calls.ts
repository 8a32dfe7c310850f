import { reasonOf } from "../../../commands/no-response.ts";
import { createLog } from "../../../lib/platform/log.ts";
import { masked } from "./mask.ts";

/** A longer body is cut before it is parsed. */
const maxBodyBytes = 65_536;

/**
 * Returns a `fetch` that also writes each call and its response as a log line `peer_call`. The line has the log fields of the code that
 * calls, such as the id of the credential request. Headers are left out, and secrets in bodies are masked.
 */
export function recordCalls(fetch: typeof globalThis.fetch, write: (line: string) => void): typeof globalThis.fetch {
  const log = createLog((_, line) => write(line));
  return async (input, init) => {
    const started = performance.now();
    const request = new Headers(init?.headers);
    const call = {
      method: init?.method ?? "GET",
      url: String(input instanceof Request ? input.url : input),
      authorized: request.has("authorization"),
      contentType: request.get("content-type") ?? undefined,
      request: textOf(init?.body),
    };
    const record = (outcome: { readonly status?: number; readonly response?: string; readonly failure?: string }) =>
      log.info("peer_call", { ...call, ...outcome, durationMs: Math.round(performance.now() - started) });
    try {
      const response = await fetch(input, init);
      const { status } = response;
      startOf(response.clone()).then(
        text => record({ status, response: masked(text) }),
        () => record({ status, failure: "The response was not read to its end." }),
      );
      return response;
    } catch (error) {
      record({ failure: reasonOf(error) });
      throw error;
    }
  };
}

const textOf = (body: unknown): string | undefined =>
  typeof body === "string" || body instanceof URLSearchParams ? masked(String(body)) : undefined;

async function startOf({ body }: Response): Promise<string> {
  if (body === null) return "";
  const reader = body.getReader();
  const parts: Uint8Array[] = [];
  let size = 0;
  while (size <= maxBodyBytes) {
    const { done, value } = await reader.read();
    if (done) break;
    parts.push(value);
    size += value.length;
  }
  // Not awaited: it ends only when the caller has read or cancelled the response itself.
  reader.cancel().catch(() => {});
  return Buffer.concat(parts).toString("utf8", 0, maxBodyBytes);
}
