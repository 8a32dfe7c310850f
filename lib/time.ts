/** A point in time as ISO 8601 UTC with milliseconds: sorts and compares as text (decision G9). */
export type Instant = string;

/** The clock, passed in wherever time is needed. */
export type Now = () => Instant;

export const instant = (epochMs: number): Instant => new Date(epochMs).toISOString();

/** @param ms may be negative */
export const plus = (time: Instant, ms: number): Instant => instant(Date.parse(time) + ms);

/** Milliseconds from `from` to `to`. */
export const between = (from: Instant, to: Instant): number => Date.parse(to) - Date.parse(from);

export const earliest = (...times: readonly (Instant | undefined)[]): Instant | undefined =>
  times.reduce(
    (least, time) => (least === undefined || (time !== undefined && time < least) ? time : least),
    undefined,
  );

/** Whole milliseconds, also of fractions. */
export const seconds = (count: number): number => Math.round(count * 1000);
export const minutes = (count: number): number => count * 60_000;
export const hours = (count: number): number => count * 3_600_000;
export const days = (count: number): number => Math.round(count * 86_400_000);
