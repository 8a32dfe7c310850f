import { days, hours, minutes, seconds } from "../platform/time.ts";
import type { AuthSettings } from "./settings.ts";
import { parseAllowList } from "./sign-in/caller-address.ts";

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

/**
 * Returns rules and limits, from the settings and `authLimits`. All durations are in milliseconds.
 * @param replaced replaces constants of `authLimits`, for tests
 */
export function toAuthRules(settings: AuthSettings, replaced: object = {}) {
  const limits = { ...authLimits, ...replaced };
  const maxWaitMs = seconds(settings.AUTH_THROTTLE_LONGEST_WAIT_SECONDS);
  const idleMs = seconds(settings.SESSION_IDLE_SECONDS);
  return {
    otpPolicy: settings.AUTH_OTP_POLICY,
    allowEmptyPassword: settings.AUTH_ALLOW_EMPTY_PASSWORD,
    identifyByOtp: settings.AUTH_IDENTIFY_BY_OTP,
    selfAssign: settings.AUTH_SELF_ASSIGN,
    /** Longer if the password may be the only factor (A4). */
    passwordMinLength: settings.AUTH_PASSWORD_MIN_LENGTH ?? (settings.AUTH_OTP_POLICY === "never" ? 15 : 8),
    throttle: {
      failures: settings.AUTH_THROTTLE_FAILURES,
      firstWaitMs: limits.throttleFirstWaitMs,
      maxWaitMs,
      reservationMs: limits.throttleReservationMs,
      keepMs: Math.max(limits.throttleKeepMs, maxWaitMs),
    },
    address: {
      limits: { attempts: settings.AUTH_ADDRESS_LIMIT, windowMs: limits.addressWindowMs },
      /** Whether an address is on the allow-list. */
      isExempt: parseAllowList(settings.AUTH_ADDRESS_ALLOW_LIST),
    },
    slotWaitMs: limits.slotWaitMs,
    keyStopFailures: limits.keyStopFailures,
    windows: {
      lookAhead: settings.OTP_HOTP_LOOK_AHEAD,
      resync: limits.hotpResync,
      steps: settings.OTP_TOTP_STEPS,
    },
    spentOtpMs: limits.spentOtpMs,
    session: {
      idleMs,
      absoluteMs: seconds(settings.SESSION_ABSOLUTE_SECONDS),
      touchMs: Math.min(limits.sessionTouchMs, idleMs / 2),
    },
    /** Maximum age of a device token; 0: there are none. */
    deviceMs: days(settings.AUTH_DEVICE_DAYS),
    secureCookie: settings.SESSION_COOKIE_SECURE,
    allowedOrigins: settings.CLIENT_ALLOWED_ORIGINS,
    /** Whether validation servers are configured. New OTP keys are then of kind `remote`. */
    usesValidationServers: settings.OTP_VALIDATION_URLS.length > 0,
  };
}
