/** The response of the host or of a peer. */
export interface Outcome<T = unknown> {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: T;
}

/** Returns the reason of a refusal in one sentence. */
export function refusalOf({ status, body }: Outcome): string {
  const reason = reasonOf(body);
  return `The host answers ${status}${reason ? `: ${reason}` : "."}`;
}

function reasonOf(body: unknown): string | undefined {
  const { error_message, error } = (body ?? {}) as { error_message?: string; error?: string };
  return error_message || error;
}

const shownHeaders = ["retry-after", "x-ignored-fields", "location"];
const maxSummaryLength = 1200;

/** Returns what a refusal says to people; undefined for a success. */
function adviceOf({ status, headers, body }: Outcome): string | undefined {
  if (status < 400) return undefined;
  const seconds = Number(headers["retry-after"]);
  const again = seconds < 120 ? `${seconds} seconds` : `${Math.ceil(seconds / 60)} minutes`;
  return [reasonOf(body), seconds > 0 && `Try again in ${again}.`].filter(Boolean).join(" ");
}

/** Returns what the page shows of a response: what a refusal says, then headers and body. */
export function summaryOf(outcome: Outcome): string {
  const { headers, body } = outcome;
  const line = body === undefined ? "" : typeof body === "string" ? body : JSON.stringify(body);
  const text = line.length > 90 && typeof body === "object" ? JSON.stringify(body, undefined, 1) : line;
  const named = shownHeaders.filter(name => headers[name] !== undefined).map(name => `${name}: ${headers[name]}`);
  return [adviceOf(outcome), ...named, text.length > maxSummaryLength ? `${text.slice(0, maxSummaryLength)} …` : text]
    .filter(Boolean)
    .join("\n");
}
