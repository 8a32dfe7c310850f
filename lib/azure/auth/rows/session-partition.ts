import type { SessionKey } from "../../../auth/model/session.ts";

/** Number of partitions of an hour. One would be too few for 100,000 people who sign in within an hour (docs/scale.md). */
export const partitionsOfHour = 8;

/**
 * Returns the partition of a session, such as `2031-01-31T07_5`. The hour comes first, so that clean-up reads past
 * hours as one range of partitions.
 */
export function sessionPartition({ hour, hash }: Pick<SessionKey, "hour" | "hash">): string {
  const [byte = 0] = Buffer.from(hash, "base64url");
  return `${hour}_${byte % partitionsOfHour}`;
}
