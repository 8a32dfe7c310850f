/** A point in time as ISO 8601 UTC with milliseconds. Instants compare as text. */
export type Instant = string;

/** The clock. It is a dependency, so that tests can set the time (G9). */
export type Now = () => Instant;

/** Returns the clock that counts by a function such as `Date.now`. */
export const clockOf =
  (epochMs: () => number): Now =>
  () =>
    instant(epochMs());

/** Converts milliseconds since 1970 to an instant. */
export const instant = (epochMs: number): Instant => new Date(epochMs).toISOString();

/** Returns the milliseconds since 1970 of a time that another system wrote, or NaN. A time without a zone is UTC. */
export const parseUtc = (text: string): number =>
  Date.parse(/(?:[A-Z]|[+-]\d\d:?\d\d)$/i.test(text) ? text : `${text}Z`);

/** Returns the instant `ms` milliseconds later; earlier if negative. */
export const plus = (time: Instant, ms: number): Instant => instant(Date.parse(time) + ms);

/** Returns the milliseconds from `from` to `to`. */
export const between = (from: Instant, to: Instant): number => Date.parse(to) - Date.parse(from);

/** Returns the hour of a time, such as `2031-01-31T07`. Hours compare as text. */
export const hourOf = (time: Instant): string => time.slice(0, 13);

/**
 * Returns whether a time is less than `ms` ago. A time in the future is not: the clock was set back, and the real age
 * is unknown.
 */
export function isRecent(at: Instant | undefined, ms: number, now: Instant): boolean {
  if (at === undefined) return false;
  const ageMs = between(at, now);
  return ageMs >= 0 && ageMs < ms;
}

/** Returns the earliest of the defined times; undefined if none is defined. */
export const earliest = <T extends Instant | Date>(...times: readonly (T | undefined)[]): T | undefined =>
  times.reduce(
    (first, time) => (first === undefined || (time !== undefined && time < first) ? time : first),
    undefined,
  );

/** Returns whole milliseconds, also for fractions. */
export const seconds = (count: number): number => Math.round(count * 1000);
export const minutes = (count: number): number => count * 60_000;
export const hours = (count: number): number => count * 3_600_000;
export const days = (count: number): number => Math.round(count * 86_400_000);
