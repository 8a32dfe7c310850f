import { type SettingValues, settingsSchema } from "../platform/settings/read-settings.ts";
import { isAddress, setting } from "../platform/settings/setting.ts";
import { instant } from "../platform/time.ts";
import { isAddressEntry } from "./sign-in/caller-address.ts";

const otpPolicies = ["never", "when-assigned", "always"] as const;

const isOrigin = (text: string): boolean => isAddress(text) && new URL(text).origin === text;

const isDate = (text: string): boolean =>
  /^\d{4}-\d\d-\d\d$/.test(text) && !Number.isNaN(Date.parse(text)) && instant(Date.parse(text)).startsWith(text);

/** Settings of the authentication server. */
export const authSettings = settingsSchema(
  {
    AUTH_OTP_POLICY: setting
      .oneOf(
        otpPolicies,
        "When a sign-in needs an OTP; `when-assigned`: if the user has an enabled OTP key. Set it to `always` when all users have one, to `never` if no one has.",
      )
      .withDefault("when-assigned"),
    AUTH_PASSWORD_MIN_LENGTH: setting
      .integer(
        8,
        128,
        "Minimum length of a new password; by default 8, or 15 if `AUTH_OTP_POLICY` is `never`. Set it higher if your policy demands it.",
      )
      .optional(),
    AUTH_ALLOW_EMPTY_PASSWORD: setting
      .flag(
        "Allow users without a password to sign in with an OTP alone. Set it to true if the OTP may be the only factor.",
      )
      .withDefault("false"),
    IMPORTED_HASHES_UNTIL: setting
      .text(
        "Date (UTC) from which imported password hashes are not accepted any more, as in 2027-06-30; not set: they have no end. Set it so that most users have signed in by then after a move from another server.",
      )
      .refine(isDate, "must be a date, as in 2027-06-30")
      .transform(date => instant(Date.parse(date)))
      .optional(),
    AUTH_IDENTIFY_BY_OTP: setting
      .flag(
        "Identify the user by the OTP if no username is given. Set it to true if people sign in by their OTP key without typing a name.",
      )
      .withDefault("false"),
    AUTH_SELF_ASSIGN: setting
      .flag(
        "Whether users may assign an unassigned OTP key to themselves, with their password and an OTP of the key. Set it to true if you hand out OTP keys without assigning them.",
      )
      .withDefault("false"),
    AUTH_THROTTLE_FAILURES: setting
      .integer(
        1,
        100,
        "Failed attempts of a username in a row after which it must wait. Set it lower if your policy demands it.",
      )
      .withDefault("10"),
    AUTH_THROTTLE_LONGEST_WAIT_SECONDS: setting
      .seconds(
        "Maximum wait of a username. Set it lower if the help desk is called too often, higher against patient attackers.",
      )
      .withDefault("3600"),
    AUTH_ADDRESS_LIMIT: setting
      .integer(
        0,
        1_000_000,
        "Maximum number of failed attempts of one caller address within an hour; 0: no limit. Set it if one address attacks many usernames.",
      )
      .withDefault("0"),
    AUTH_ADDRESS_ALLOW_LIST: setting
      .list(
        "Addresses and networks to which `AUTH_ADDRESS_LIMIT` does not apply, comma-separated. Set it to the gateways and offices that sign in many users.",
      )
      .refine(entries => entries.every(isAddressEntry), "must be addresses or networks, as in 10.0.0.0/8")
      .withDefault(""),

    OTP_HOTP_LOOK_AHEAD: setting
      .integer(
        0,
        25,
        "Number of codes after the next expected one that are accepted (kind `hotp`). Set it higher if users often press keys without signing in.",
      )
      .withDefault("15"),
    OTP_TOTP_STEPS: setting
      .integer(
        0,
        2,
        "Number of time steps before and after the current one that are accepted (kind `totp`). Set it to 2 if the clocks of OTP keys are off.",
      )
      .withDefault("1"),
    OTP_VALIDATION_URLS: setting
      .list(
        "URLs of the validation servers of kind `remote`, tried in order, comma-separated; empty: new OTP keys have no secret. Set it if the secrets of OTP keys are on such servers.",
      )
      .refine(urls => urls.every(isAddress), "must be https addresses")
      .withDefault(""),
    OTP_VALIDATION_CLIENT_ID: setting
      .text(
        "Client id at the validation servers; its key is stored in Key Vault. Set it together with `OTP_VALIDATION_URLS`.",
      )
      .refine(text => /^[0-9]{1,15}$/.test(text), "must be a number")
      .optional(),

    AUTH_DEVICE_DAYS: setting
      .integer(
        0,
        3650,
        "Days after which a device token ends; 0: device tokens are neither issued nor accepted. Set it to how long a lost device may keep its way around a locked name.",
      )
      .withDefault("180"),
    SESSION_IDLE_SECONDS: setting
      .seconds("Idle time after which a session ends. Set it to what your policy demands.")
      .withDefault("3600"),
    SESSION_ABSOLUTE_SECONDS: setting
      .seconds("Age at which a session ends. Set it to what your policy demands.")
      .withDefault("86400"),
    SESSION_COOKIE_SECURE: setting
      .flag("Send the session cookie over TLS only. Set it to false for a local run without TLS only.")
      .withDefault("true"),
    CLIENT_ALLOWED_ORIGINS: setting
      .list(
        "Origins whose pages may call the Client API, comma-separated; their calls must carry `Origin`, which links do not send. Set it if your sign-in page is on another origin.",
      )
      .refine(origins => origins.every(isOrigin), "must be origins, as in https://app.example.com")
      .withDefault(""),
    CRON_SESSION_CLEANUP_SCHEDULE: setting
      .schedule(
        "Schedule of the deletion of expired sessions and throttles; six fields, UTC. Set it to avoid busy hours.",
      )
      .withDefault("0 15 * * * *"),
  },
  ({ OTP_VALIDATION_URLS: urls = [], OTP_VALIDATION_CLIENT_ID: clientId }) => {
    if (urls.length === 0 || clientId !== undefined) return [];
    const reason = "must be set if OTP_VALIDATION_URLS is set: requests and responses are signed";
    return [{ path: "OTP_VALIDATION_CLIENT_ID", reason }];
  },
);

export type AuthSettings = SettingValues<(typeof authSettings)["shape"]>;
