import type { Log } from "../platform/log.ts";
import type { Sealer } from "../platform/crypto.ts";
import { days, type Now, seconds } from "../platform/time.ts";
import { authLimits } from "./limits.ts";
import type { OtpPeers } from "./otpkeys/kinds/contract.ts";
import type { PasswordHasher } from "./passwords/password-hash.ts";
import type { createDeviceTokens } from "./sessions/device-token.ts";
import { type AuthSettings, passwordMinLength } from "./settings.ts";
import { parseAllowList } from "./sign-in/address-limit.ts";
import type { KeyedHash } from "./storage/keyed-hash.ts";
import type { AuthStore } from "./storage/store.table.ts";

/** What the operations of the authentication server depend on. */
export interface AuthDeps extends AuthStore {
  readonly hasher: PasswordHasher;
  readonly sealer: Sealer;
  readonly otpPeers: OtpPeers;
  readonly deviceTokens: ReturnType<typeof createDeviceTokens>;
  /** Tokens that set a new password (`changeRequired`), with the contents of device tokens. */
  readonly changeTokens: ReturnType<typeof createDeviceTokens>;
  readonly keyedHash: KeyedHash;
  readonly rules: ReturnType<typeof toAuthRules>;
  readonly log: Log;
  readonly now: Now;
  readonly random: (bytes: number) => Uint8Array;
  readonly sleep: (ms: number) => Promise<void>;
}

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
    passwordMinLength: passwordMinLength(settings),
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
