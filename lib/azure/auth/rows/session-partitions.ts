import type { SessionKey } from "../../../auth/model/session.ts";

/**
 * Sessions that end in the same hour are divided among this many partitions. A partition allows 2,000 operations a
 * second, and a status call makes one, or two once a minute: one partition would be too few for 100,000 people who sign
 * in within an hour (docs/scale.md).
 */
const partitionsOfHour = 8;

/** Returns the partition of a session. */
export const sessionPartition = ({ hour, hash }: Pick<SessionKey, "hour" | "hash">): string =>
  `${hour}_${hash.charCodeAt(0) % partitionsOfHour}`;

/** Returns the partitions of the sessions whose absolute expiry is in this hour. */
export const sessionPartitionsOf = (hour: string): readonly string[] =>
  Array.from({ length: partitionsOfHour }, (_, number) => `${hour}_${number}`);
