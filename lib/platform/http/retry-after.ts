import type { Fault } from "../fault.ts";

/** Returns the header `Retry-After` of a refusal in whole seconds, at least 1. Returns no header if the Fault has no such time. */
export const retryAfterHeader = ({ retryAfter }: Fault): Readonly<Record<string, string>> =>
  retryAfter === undefined ? {} : { "retry-after": String(Math.max(1, Math.ceil(retryAfter))) };
