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

/** Returns what a refusal says to people; undefined for a success. */
export function adviceOf({ status, headers, body }: Outcome): string | undefined {
  if (status < 400) return undefined;
  const seconds = Number(headers["retry-after"]);
  const again = seconds < 120 ? `${seconds} seconds` : `${Math.ceil(seconds / 60)} minutes`;
  return [reasonOf(body), seconds > 0 && `Try again in ${again}.`].filter(Boolean).join(" ");
}

const shownHeaders = ["retry-after", "x-ignored-fields", "location"];
const maxAnswerLength = 1200;

/** Returns what the page shows of a response on demand. */
export function answerOf({ headers, body }: Outcome): string {
  const text = body === undefined || typeof body === "string" ? (body ?? "") : JSON.stringify(body, undefined, 1);
  const named = shownHeaders.filter(name => headers[name] !== undefined).map(name => `${name}: ${headers[name]}`);
  return [...named, text.length > maxAnswerLength ? `${text.slice(0, maxAnswerLength)} …` : text]
    .filter(line => line !== "")
    .join("\n");
}
