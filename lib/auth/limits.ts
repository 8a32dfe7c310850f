import { days, hours, minutes, seconds } from "../platform/time.ts";

/** Time limits in milliseconds, and numbers, that no setting changes (G9). */
export const authLimits = {
  /**
   * Password hashes in progress, if there are as many cores. Node hashes in its thread pool, which has four threads:
   * more would wait there.
   */
  hashingThreads: 4,
  /**
   * Callers in the queue for each hash in progress; further ones get 503. A core computes some 25 hashes a second, so
   * the queue takes a little more than a second.
   */
  hashSlotsPerThread: 32,
  /**
   * Maximum time that a sign-in waits for its turn. Then a caller gets 503, because people who wait longer try again.
   */
  hashWaitMs: seconds(2),
  /** First wait of a username. It doubles with each further failure. */
  throttleFirstWaitMs: seconds(30),
  /**
   * Age at which an unfinished attempt counts as a failure. Longer than all calls of an attempt, also those to
   * validation servers.
   */
  throttleReservationMs: seconds(30),
  /** Time after the last failure of a username at which its failures are deleted; at least the longest wait. */
  throttleKeepMs: days(1),
  /** Time that an attempt waits for unfinished attempts of the same username, which end in about a second. */
  slotWaitMs: seconds(2),
  /** Wrong OTPs in a row that stop an OTP key. NIST SP 800-63B allows at most 100. */
  keyStopFailures: 100,
  /** The window of `AUTH_ADDRESS_LIMIT`. */
  addressWindowMs: hours(1),
  /**
   * Codes after the next expected one in which two codes in a row resynchronise a `hotp` key: a key pressed in a pocket
   * for months.
   */
  hotpResync: 100,
  /** One validation server. Of several, the others get the rest of the total. */
  validationCallMs: seconds(5),
  /** All validation servers together. Shorter than a reservation. */
  validationTotalMs: seconds(15),
  /** How long used OTPs of kind `remote` are stored. The validation servers refuse them anyway. */
  spentOtpMs: days(30),
  /**
   * Minimum time between two writes of a session's access time, so that not each call writes; at most half of the idle
   * time.
   */
  sessionTouchMs: minutes(1),
};
