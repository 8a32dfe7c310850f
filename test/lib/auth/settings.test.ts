import { describe, expect, it } from "vitest";
import { authLimits, toAuthRules } from "../../../lib/auth/rules.ts";
import { authSettings } from "../../../lib/auth/settings.ts";
import { BadSettings, type Environment, readSettings } from "../../../lib/platform/settings/read-settings.ts";
import { days, seconds } from "../../../lib/platform/time.ts";
import { describeSettings } from "../../../local/generate/describe-settings.ts";

const read = (environment: Environment = {}) => readSettings(authSettings, environment);
const problemsOf = (environment: Environment) => {
  try {
    read(environment);
    return [];
  } catch (error) {
    if (!(error instanceof BadSettings)) throw error;
    return error.problems.map(({ path }) => path);
  }
};

describe("the settings of the authentication server", () => {
  it("ask for longer passwords where one may be the only factor", () => {
    const never = { AUTH_OTP_POLICY: "never" };
    const minLength = (environment: Environment) => toAuthRules(read(environment)).passwordMinLength;
    expect([{}, { AUTH_OTP_POLICY: "always" }, never].map(minLength)).toEqual([8, 8, 15]);
    expect(minLength({ ...never, AUTH_PASSWORD_MIN_LENGTH: "12" })).toBe(12);
  });

  it("have no validation server on the loopback in Azure, but origins of developers' machines", () => {
    const loopback = "http://127.0.0.1:8000/verify";
    expect(() => read({ OTP_VALIDATION_URLS: `https://a.example/verify,${loopback}` })).toThrow(
      "OTP_VALIDATION_URLS: must be an https",
    );
    expect(read({ CLIENT_ALLOWED_ORIGINS: "http://localhost:3000" }).CLIENT_ALLOWED_ORIGINS).toHaveLength(1);
  });

  it("take several of what comes in lists", () => {
    const settings = read({
      CLOUD_STORAGE_CONNECTION_STRING: "UseDevelopmentStorage=true",
      OTP_VALIDATION_URLS: "https://a.example.com/wsapi/2.0/verify, http://127.0.0.1:8000/wsapi/2.0/verify",
      OTP_VALIDATION_CLIENT_ID: "87",
      CLIENT_ALLOWED_ORIGINS: "https://app.example.com,http://localhost:3000",
      AUTH_ADDRESS_ALLOW_LIST: "10.0.0.0/8,::1",
    });
    expect(settings.OTP_VALIDATION_URLS).toHaveLength(2);
    expect(settings.CLIENT_ALLOWED_ORIGINS).toEqual(["https://app.example.com", "http://localhost:3000"]);
    expect(settings.AUTH_ADDRESS_ALLOW_LIST).toEqual(["10.0.0.0/8", "::1"]);
  });

  it.each([
    ["AUTH_OTP_POLICY", "sometimes"],
    ["AUTH_PASSWORD_MIN_LENGTH", "7"],
    ["AUTH_ADDRESS_ALLOW_LIST", "example.com"],
    ["OTP_HOTP_LOOK_AHEAD", "26"],
    ["CLIENT_ALLOWED_ORIGINS", "https://app.example.com/"],
    ["CLIENT_ALLOWED_ORIGINS", "http://app.example.com"],
    ["CLIENT_ALLOWED_ORIGINS", "null"],
    ["CLIENT_ALLOWED_ORIGINS", "*"],
  ])("refuse %s=%s", (name, value) => {
    expect(problemsOf({ [name]: value })).toEqual([name]);
  });

  it("refuse validation servers without TLS or without a client id", () => {
    const urls = { OTP_VALIDATION_URLS: "https://a.example.com/verify" };
    const open = { OTP_VALIDATION_URLS: "http://a.example.com/verify", OTP_VALIDATION_CLIENT_ID: "1" };
    expect(problemsOf(open)).toEqual(["OTP_VALIDATION_URLS"]);
    expect(problemsOf(urls)).toEqual(["OTP_VALIDATION_CLIENT_ID"]);
  });

  it("never make a wait end early, nor a session in use", () => {
    const long = toAuthRules(read({ AUTH_THROTTLE_LONGEST_WAIT_SECONDS: "172800", SESSION_IDLE_SECONDS: "30" }));
    expect(long.throttle.keepMs).toBe(days(2));
    expect(long.session.touchMs).toBe(seconds(15));
    expect(authLimits.validationTotalMs).toBeLessThan(authLimits.throttleReservationMs);
    expect(long.windows.resync).toBeGreaterThan(25);
  });

  it("are all described, and none has to be set", () => {
    for (const { name, description, required } of describeSettings(authSettings)) {
      expect([name, description === "", required]).toEqual([name, false, false]);
    }
  });
});
