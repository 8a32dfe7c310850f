import { hasSentNothing } from "../lib/platform/connection-error.ts";

/** A call without a response. */
export class NoResponse extends Error {
  override readonly name = "NoResponse";
  /** What to do about a call that changes something and may have arrived; empty for others. */
  readonly advice: string;
  constructor(service: string, method: string, error: unknown) {
    const mayBeDone = method !== "GET" && !hasSentNothing(error);
    super(`${service} ${mayBeDone ? "did not respond" : "is not responding"}: ${reasonOf(error)}`);
    this.advice = mayBeDone ? ". It may have been done: look before you repeat it." : "";
  }
}

/** Returns why a call failed, for people: `fetch` has the reason in the cause of its error. */
export function reasonOf(error: unknown): string {
  const cause = error instanceof Error && error.cause instanceof Error ? error.cause : error;
  // If several addresses were tried, only the inner errors have a message.
  if (cause instanceof AggregateError && cause.message === "") return cause.errors.map(reasonOf).join("; ");
  return cause instanceof Error ? cause.message || cause.name : String(cause);
}
