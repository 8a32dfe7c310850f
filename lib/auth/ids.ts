import { type Instant, instant } from "../platform/time.ts";

const idEpochMs = Date.UTC(2026, 0);
const idsPerMs = 2 ** 12;

/**
 * Returns a new id of a user: milliseconds since 2026 and 12 random bits. It is below 2^53 for 69 years, and needs no
 * shared counter. The insert of the user's rows makes it unique.
 */
export function newUserId(now: Instant, random: (bytes: number) => Uint8Array): number {
  const [high = 0, low = 0] = random(2);
  const id = Math.max(0, Date.parse(now) - idEpochMs) * idsPerMs + (((high << 8) | low) % idsPerMs);
  return Math.max(1, id);
}

/** Returns when an id was created. */
export const createdAt = (id: number): Instant => instant(idEpochMs + Math.floor(id / idsPerMs));

/** Returns the smallest id that can be created at a time. */
export const firstIdAt = (time: Instant): number => Math.max(1, (Date.parse(time) - idEpochMs) * idsPerMs);

const toNumber = (bytes: Uint8Array): number => bytes.reduce((sum, byte) => sum * 256 + byte, 0);

/** Returns a new credential epoch: 48 random bits, so that it is also the id of the write that sets it. */
export const newEpoch = (random: (bytes: number) => Uint8Array): number => toNumber(random(6));

/**
 * Returns a new id of an OTP key: 52 random bits, because nothing would notice an equal one of another prefix. Inside,
 * an OTP key is identified by prefix and id.
 */
export function newKeyId(random: (bytes: number) => Uint8Array): number {
  const [first = 0, ...rest] = random(7);
  return Math.max(1, toNumber(Uint8Array.from([first & 0x0f, ...rest])));
}
