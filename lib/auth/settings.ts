import * as z from "zod";
import { setting } from "../settings/setting.ts";
import { isAddressEntry } from "./model/address-limit.ts";
import { otpPolicies } from "./model/policy.ts";
import { maxResyncWindow } from "./otp/oath.ts";

const address = setting.address("");

const isOrigin = (text: string): boolean => address.safeParse(text).success && new URL(text).origin === text;

/** Settings of the authentication server. */
export const authSettings = z
  .object({
    AUTH_OTP_POLICY: setting
      .oneOf(otpPolicies, "When a sign-in needs an OTP; `when-assigned`: if the user has an enabled OTP key.")
      .prefault("when-assigned"),
    AUTH_PASSWORD_MIN_LENGTH: setting
      .integer(8, 128, "Minimum length of a new password; by default 8, or 15 if `AUTH_OTP_POLICY` is `never`.")
      .optional(),
    AUTH_ALLOW_EMPTY_PASSWORD: setting
      .flag("Allow users without a password to sign in with an OTP alone.")
      .prefault("false"),
    AUTH_IDENTIFY_BY_OTP: setting.flag("Identify the user by the OTP if no username is given.").prefault("false"),
    AUTH_SELF_ASSIGN: setting
      .flag("Whether users may assign an unassigned OTP key to themselves, with their password and an OTP of the key.")
      .prefault("false"),
    AUTH_HASHES_IN_FLIGHT: setting
      .integer(
        1,
        64,
        "Maximum number of password hashes in progress; each takes a core and 19 MiB. By default one for each core, and at most 4.",
      )
      .optional(),
    AUTH_HASHES_WAIT_SECONDS: setting
      .seconds("Maximum time that a password hash is expected to wait; further calls get 503 with `Retry-After`.")
      .prefault("2"),

    AUTH_THROTTLE_FAILURES: setting
      .integer(1, 100, "Failed attempts of a username in a row after which it must wait.")
      .prefault("10"),
    AUTH_THROTTLE_FIRST_WAIT_SECONDS: setting
      .seconds("First wait of a username; it doubles with each further failure.")
      .prefault("30"),
    AUTH_THROTTLE_LONGEST_WAIT_SECONDS: setting.seconds("Maximum wait of a username.").prefault("3600"),
    AUTH_THROTTLE_RESERVATION_SECONDS: setting
      .seconds("Age at which an unfinished attempt counts as a failure.")
      .prefault("30"),
    AUTH_THROTTLE_BUSY_SECONDS: setting
      .seconds("Time that an attempt waits for unfinished attempts of the same username.")
      .prefault("2"),
    AUTH_THROTTLE_KEEP_SECONDS: setting
      .seconds("Time after the last failure of a username at which its failures are deleted.")
      .prefault("86400"),
    AUTH_KEY_STOP_FAILURES: setting.integer(1, 100, "Wrong OTPs in a row that stop an OTP key.").prefault("100"),
    AUTH_ADDRESS_LIMIT: setting
      .integer(0, 1_000_000, "Maximum number of failed attempts of one caller address in a window; 0: no limit.")
      .prefault("0"),
    AUTH_ADDRESS_WINDOW_SECONDS: setting.seconds("Length of the window of `AUTH_ADDRESS_LIMIT`.").prefault("3600"),
    AUTH_ADDRESS_ALLOW_LIST: setting
      .list("Addresses and networks to which `AUTH_ADDRESS_LIMIT` does not apply, comma-separated.")
      .refine(entries => entries.every(isAddressEntry), { error: "must be addresses or networks, as in 10.0.0.0/8" })
      .prefault(""),

    OTP_HOTP_LOOK_AHEAD: setting
      .integer(0, 25, "Number of codes after the next expected one that are accepted (kind `hotp`).")
      .prefault("15"),
    OTP_HOTP_RESYNC_WINDOW: setting
      .integer(
        0,
        maxResyncWindow,
        "Number of codes after the next expected one in which two codes in a row resynchronise (kind `hotp`).",
      )
      .prefault("100"),
    OTP_TOTP_STEPS: setting
      .integer(0, 2, "Number of time steps before and after the current one that are accepted (kind `totp`).")
      .prefault("1"),
    OTP_VALIDATION_URLS: setting
      .list(
        "URLs of the validation servers of kind `remote`, tried in order, comma-separated; empty: new OTP keys have no secret.",
      )
      .refine(urls => urls.every(url => address.safeParse(url).success), { error: "must be https addresses" })
      .prefault(""),
    OTP_VALIDATION_CLIENT_ID: setting
      .text("Client id at the validation servers; its key is stored in Key Vault.")
      .regex(/^[0-9]{1,15}$/, { error: "must be a number" })
      .optional(),
    OTP_VALIDATION_TIMEOUT_SECONDS: setting.timeLimit("Time limit of a call to one validation server.").prefault("5"),
    OTP_VALIDATION_TOTAL_SECONDS: setting
      .timeLimit("Time limit of the calls to all validation servers together.")
      .prefault("15"),
    OTP_SPENT_DAYS: setting.days("Time for which used OTPs of kind `remote` are stored.").prefault("30"),

    AUTH_DEVICE_DAYS: setting
      .integer(0, 3650, "Days after which a device token ends; 0: device tokens are neither issued nor accepted.")
      .prefault("180"),
    SESSION_IDLE_SECONDS: setting.seconds("Idle time after which a session ends.").prefault("3600"),
    SESSION_ABSOLUTE_SECONDS: setting.seconds("Age at which a session ends.").prefault("86400"),
    SESSION_TOUCH_SECONDS: setting
      .seconds("Minimum time between two writes of a session's access time.")
      .prefault("60"),
    SESSION_COOKIE_SECURE: setting
      .flag("Send the session cookie over TLS only; set to false only for a local run.")
      .prefault("true"),
    CLIENT_ALLOWED_ORIGINS: setting
      .list(
        "Origins whose pages may call the Client API, comma-separated; their calls must carry `Origin`, which links do not send.",
      )
      .refine(origins => origins.every(isOrigin), { error: "must be origins, as in https://app.example.com" })
      .prefault(""),
    CRON_SESSION_CLEANUP_SCHEDULE: setting
      .schedule("Schedule of the deletion of expired sessions and throttles; six fields, UTC.")
      .prefault("0 15 * * * *"),
  })
  .superRefine((settings, context) => {
    const refuse = (name: keyof typeof settings, message: string) =>
      context.addIssue({ code: "custom", path: [name], message });
    const asksServers = settings.OTP_VALIDATION_URLS.length > 0;
    if (asksServers && settings.OTP_VALIDATION_CLIENT_ID === undefined) {
      refuse(
        "OTP_VALIDATION_CLIENT_ID",
        "must be set if OTP_VALIDATION_URLS is set: requests and responses are signed",
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
        "must not be shorter than AUTH_THROTTLE_LONGEST_WAIT_SECONDS: a wait would end early",
      );
    }
    if (settings.SESSION_TOUCH_SECONDS >= settings.SESSION_IDLE_SECONDS) {
      refuse("SESSION_TOUCH_SECONDS", "must be shorter than SESSION_IDLE_SECONDS: a session in use would end");
    }
  });

export type AuthSettings = z.output<typeof authSettings>;

/** Returns the minimum length of a new password: longer if the password may be the only factor (A4). */
export const passwordMinLength = (
  settings: Pick<AuthSettings, "AUTH_OTP_POLICY" | "AUTH_PASSWORD_MIN_LENGTH">,
): number => settings.AUTH_PASSWORD_MIN_LENGTH ?? (settings.AUTH_OTP_POLICY === "never" ? 15 : 8);
