import * as z from "zod";
import { setting } from "../settings.ts";
import { isAddressEntry } from "./model/address-limit.ts";
import { otpPolicies } from "./model/policy.ts";
import { widestWindow } from "./otp/oath.ts";

const address = setting.address("");

const isOrigin = (text: string): boolean => address.safeParse(text).success && new URL(text).origin === text;

/** The authentication server's settings, with every interval and limit of the decisions (decision G9). */
export const authSettings = z
  .object({
    AUTH_OTP_POLICY: setting
      .oneOf(otpPolicies, "When a sign-in needs an OTP; `when-assigned`: where the user has an enabled key.")
      .prefault("when-assigned"),
    AUTH_PASSWORD_MIN_LENGTH: setting
      .integer(8, 128, "Least length of a new password; by default 8, or 15 where `AUTH_OTP_POLICY` is `never`.")
      .optional(),
    AUTH_ALLOW_EMPTY_PASSWORD: setting.flag("Let users without a password sign in by OTP alone.").prefault("false"),
    AUTH_IDENTIFY_BY_OTP: setting.flag("Let an OTP name the user where no username is given.").prefault("false"),
    AUTH_HASHES_IN_FLIGHT: setting
      .integer(1, 64, "Password hashes at once; each takes a core and 19 MiB.")
      .prefault("4"),
    AUTH_HASHES_WAITING: setting
      .integer(0, 100_000, "Password hashes that may wait; beyond, calls get 503.")
      .prefault("1000"),

    AUTH_THROTTLE_FAILURES: setting
      .integer(1, 100, "Failures of a username in a row before waits begin.")
      .prefault("10"),
    AUTH_THROTTLE_FIRST_WAIT_SECONDS: setting
      .seconds("First wait of a username; doubles with each failure.")
      .prefault("30"),
    AUTH_THROTTLE_LONGEST_WAIT_SECONDS: setting.seconds("Longest wait of a username.").prefault("3600"),
    AUTH_THROTTLE_RESERVATION_SECONDS: setting
      .seconds("Age at which an unfinished attempt counts as a failure.")
      .prefault("30"),
    AUTH_THROTTLE_BUSY_SECONDS: setting
      .seconds("How long an attempt waits for a place among unfinished ones.")
      .prefault("2"),
    AUTH_THROTTLE_KEEP_SECONDS: setting
      .seconds("Age of the last failure at which a username's are forgotten.")
      .prefault("86400"),
    AUTH_KEY_STOP_FAILURES: setting.integer(1, 100, "Wrong OTPs in a row that stop a key.").prefault("100"),
    AUTH_ADDRESS_LIMIT: setting
      .integer(0, 1_000_000, "Failed attempts of one caller address in one window; 0 is no limit.")
      .prefault("0"),
    AUTH_ADDRESS_WINDOW_SECONDS: setting.seconds("Window of `AUTH_ADDRESS_LIMIT`.").prefault("3600"),
    AUTH_ADDRESS_ALLOW_LIST: setting
      .list("Addresses and networks that `AUTH_ADDRESS_LIMIT` spares, comma list.")
      .refine(entries => entries.every(isAddressEntry), { error: "must be addresses or networks, as in 10.0.0.0/8" })
      .prefault(""),

    OTP_HOTP_LOOK_AHEAD: setting
      .integer(0, 25, "Codes beyond the next expected one that pass (kind `hotp`).")
      .prefault("15"),
    OTP_HOTP_RESYNC_WINDOW: setting
      .integer(
        0,
        widestWindow,
        "Codes beyond the next expected one among which two in a row resynchronise (kind `hotp`).",
      )
      .prefault("100"),
    OTP_TOTP_STEPS: setting
      .integer(0, 2, "Steps of 30 seconds on either side of now that pass (kind `totp`).")
      .prefault("1"),
    OTP_VALIDATION_URLS: setting
      .list("Validation servers of keys of kind `remote`, asked in turn, comma list; empty: new keys have no secret.")
      .refine(urls => urls.every(url => address.safeParse(url).success), { error: "must be https addresses" })
      .prefault(""),
    OTP_VALIDATION_CLIENT_ID: setting
      .text("Our id at the validation servers; its key lies in the vault.")
      .regex(/^[0-9]{1,15}$/, { error: "must be a number" })
      .optional(),
    OTP_VALIDATION_TIMEOUT_SECONDS: setting.seconds("Time limit of one validation server.").prefault("5"),
    OTP_VALIDATION_TOTAL_SECONDS: setting.seconds("Time limit of all validation servers together.").prefault("15"),
    OTP_SPENT_DAYS: setting.days("How long spent OTPs of kind `remote` are remembered.").prefault("30"),

    SESSION_IDLE_SECONDS: setting.seconds("A session ends when it was not used for this long.").prefault("3600"),
    SESSION_ABSOLUTE_SECONDS: setting.seconds("A session ends at this age.").prefault("86400"),
    SESSION_TOUCH_SECONDS: setting.seconds("Least time between two writes of a session's access time.").prefault("60"),
    SESSION_COOKIE_SECURE: setting
      .flag("Send the session cookie over TLS only; false in a local run.")
      .prefault("true"),
    CLIENT_ALLOWED_ORIGINS: setting
      .list(
        "Origins whose pages may call the Client API, comma list; their calls must carry `Origin`, which links do not.",
      )
      .refine(origins => origins.every(isOrigin), { error: "must be origins, as in https://app.example.com" })
      .prefault(""),
    CRON_SESSION_CLEANUP_SCHEDULE: setting
      .schedule("When expired sessions and throttles are deleted; six fields, UTC.")
      .prefault("0 15 * * * *"),
  })
  .superRefine((settings, context) => {
    const refuse = (name: keyof typeof settings, message: string) =>
      context.addIssue({ code: "custom", path: [name], message });
    const asksServers = settings.OTP_VALIDATION_URLS.length > 0;
    if (asksServers && settings.OTP_VALIDATION_CLIENT_ID === undefined) {
      refuse(
        "OTP_VALIDATION_CLIENT_ID",
        "must be set with OTP_VALIDATION_URLS: requests and answers are signed (decision A7)",
      );
    }
    if (asksServers && settings.OTP_VALIDATION_TOTAL_SECONDS >= settings.AUTH_THROTTLE_RESERVATION_SECONDS) {
      refuse(
        "OTP_VALIDATION_TOTAL_SECONDS",
        "must be shorter than AUTH_THROTTLE_RESERVATION_SECONDS, after which an attempt counts as failed",
      );
    }
    if (settings.OTP_HOTP_RESYNC_WINDOW < settings.OTP_HOTP_LOOK_AHEAD) {
      refuse("OTP_HOTP_RESYNC_WINDOW", "must not be smaller than OTP_HOTP_LOOK_AHEAD");
    }
    if (settings.AUTH_THROTTLE_KEEP_SECONDS < settings.AUTH_THROTTLE_LONGEST_WAIT_SECONDS) {
      refuse(
        "AUTH_THROTTLE_KEEP_SECONDS",
        "must not be shorter than AUTH_THROTTLE_LONGEST_WAIT_SECONDS, which it would end",
      );
    }
    if (settings.SESSION_TOUCH_SECONDS >= settings.SESSION_IDLE_SECONDS) {
      refuse("SESSION_TOUCH_SECONDS", "must be shorter than SESSION_IDLE_SECONDS: a session in use would end");
    }
  });

export type AuthSettings = z.output<typeof authSettings>;

/** The least length of a new password in force (decision A4): longer where it may be the only factor. */
export const passwordMinLength = (
  settings: Pick<AuthSettings, "AUTH_OTP_POLICY" | "AUTH_PASSWORD_MIN_LENGTH">,
): number => settings.AUTH_PASSWORD_MIN_LENGTH ?? (settings.AUTH_OTP_POLICY === "never" ? 15 : 8);
