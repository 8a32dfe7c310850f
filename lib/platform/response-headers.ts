import { between, type Now } from "./time.ts";

const maxRetryAfterSeconds = 86_400;

/** One of the values of a header, separated by commas. The comma after the weekday of a date separates nothing. */
const oneValue = /\s*(?:Mon|Tues?|Wed(?:nes)?|Thu(?:rs)?|Fri|Sat(?:ur)?|Sun)(?:day)?,[^,]*|[^,]+/g;

/**
 * Returns the whole seconds to wait from Retry-After (RFC 9110 section 10.2.3, both forms). A fraction, as Microsoft
 * Graph sends it, is rounded up. If several headers are joined by commas, returns the longest wait. At most a day, so
 * that a wrong value does not stop work; undefined if no value can be read.
 * @param now the clock for a date; without it a date counts as unreadable
 */
export function readRetryAfter(header: string | null | undefined, now?: Now): number | undefined {
  const waits = (header?.match(oneValue) ?? []).map(value => secondsOf(value.trim(), now));
  const longest = Math.max(...waits.filter(wait => wait !== undefined));
  // Math.max() of no values is -Infinity.
  return longest < 0 ? undefined : Math.min(longest, maxRetryAfterSeconds);
}

function secondsOf(value: string, now: Now | undefined): number | undefined {
  if (/^\d+(?:\.\d+)?$/.test(value)) return Math.ceil(Number(value));
  // All three date forms of RFC 9110 are UTC, but the asctime form does not name the zone.
  const date = Date.parse(value.endsWith("GMT") ? value : `${value} GMT`);
  if (now === undefined || !/^[A-Z][a-z]{2}/.test(value) || Number.isNaN(date)) return undefined;
  return Math.max(0, Math.ceil(between(now(), new Date(date).toISOString()) / 1000));
}

/** Headers with the call's id: of Microsoft Graph and Entra, PingOne, Advanced Identity Cloud, and common ones. */
const requestIdHeaders = [
  "request-id",
  "x-ms-request-id",
  "correlation-id",
  "x-forgerock-transactionid",
  "x-request-id",
  "x-correlation-id",
];

/** Returns the id by which the peer's support finds the call; undefined if the response has none. */
export function requestIdIn(headers: Headers): string | undefined {
  const ids = requestIdHeaders.map(name => headers.get(name));
  return ids.find((id): id is string => id !== null && /^[\w.:/-]{1,128}$/.test(id));
}
