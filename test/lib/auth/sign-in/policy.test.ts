import { describe, expect, it } from "vitest";
import { otpPolicies } from "../../../../lib/auth/settings.ts";
import {
  decideSignIn,
  isPasswordSatisfied,
  type SignInFacts,
  type SignInRules,
} from "../../../../lib/auth/sign-in/check-factors.ts";

const passwords = ["right", "wrong", "absent"] as const;
const otps = ["valid", "refused", "absent"] as const;
const booleans = [true, false];

/** Every case there is. A right password needs one to be right. */
const cases: readonly (readonly [SignInRules, SignInFacts])[] = otpPolicies
  .flatMap(otpPolicy => booleans.map(allowEmptyPassword => ({ otpPolicy, allowEmptyPassword })))
  .flatMap(rules =>
    passwords.flatMap(password =>
      otps.flatMap(otp =>
        booleans.flatMap(userHasPassword =>
          booleans.map(
            userHasSecondFactor =>
              [
                rules,
                {
                  isDisabled: false,
                  mustChange: false,
                  password,
                  isPasswordEnded: false,
                  otp,
                  userHasPassword,
                  userHasSecondFactor,
                },
              ] satisfies [unknown, unknown],
          ),
        ),
      ),
    ),
  )
  .filter(([, { password, userHasPassword }]) => userHasPassword || password !== "right");
const granted = cases.filter(([rules, facts]) => decideSignIn(rules, facts).granted);
const rules: SignInRules = { otpPolicy: "when-assigned", allowEmptyPassword: false };
const facts: SignInFacts = {
  isDisabled: false,
  mustChange: false,
  password: "right",
  userHasPassword: true,
  isPasswordEnded: false,
  otp: "absent",
  userHasSecondFactor: false,
};

describe("a sign-in", () => {
  it("is refused to a disabled user in every case", () => {
    for (const [rules, facts] of cases) {
      expect(decideSignIn(rules, { ...facts, isDisabled: true })).toEqual({ granted: false, reason: "disabled" });
    }
  });

  it("is refused in the end if the password must be changed: only in the cases that it would be granted", () => {
    for (const [rules, facts] of cases) {
      const decision = decideSignIn(rules, facts);
      expect(decideSignIn(rules, { ...facts, mustChange: true })).toEqual(
        decision.granted ? { granted: false, reason: "must_change" } : decision,
      );
    }
  });

  it("is granted in some of all cases", () => {
    expect(cases).toHaveLength(3 * 2 * 3 * 5 * 2);
    expect(granted.length).toBeGreaterThan(0);
  });

  it("by a user with a password needs that password", () => {
    for (const [, { password, userHasPassword }] of granted) if (userHasPassword) expect(password).toBe("right");
  });

  it("with a wrong OTP fails, even where none is needed", () => {
    for (const [, { otp }] of granted) expect(otp).not.toBe("refused");
  });

  it("under the policy `always` needs a valid OTP", () => {
    for (const [{ otpPolicy }, { otp }] of granted) if (otpPolicy === "always") expect(otp).toBe("valid");
  });

  it("under the policy `when-assigned` needs one exactly if the user has a second factor", () => {
    for (const userHasSecondFactor of booleans) {
      expect(decideSignIn(rules, { ...facts, userHasSecondFactor }).granted).toBe(!userHasSecondFactor);
      expect(decideSignIn(rules, { ...facts, userHasSecondFactor, otp: "valid" }).granted).toBe(true);
    }
  });

  it("under the policy `never` needs none of a user with a password", () => {
    expect(decideSignIn({ ...rules, otpPolicy: "never" }, { ...facts, userHasSecondFactor: true }).granted).toBe(true);
  });

  it("by a user without a password needs the setting, a valid OTP, and no password given", () => {
    const without = granted.filter(([, { userHasPassword }]) => !userHasPassword);
    expect(without.length).toBeGreaterThan(0);
    for (const [{ allowEmptyPassword }, { otp, password }] of without) {
      expect([allowEmptyPassword, otp, password]).toEqual([true, "valid", "absent"]);
    }
  });

  it.each([
    [{ password: "wrong" }, "wrong_password"],
    [{ password: "wrong", otp: "refused" }, "wrong_password"],
    [{ password: "absent" }, "no_password"],
    [{ otp: "refused" }, "wrong_otp"],
    [{ userHasSecondFactor: true }, "no_otp"],
  ] as const)("is refused with %j for the reason %s", (change, reason) => {
    expect(decideSignIn(rules, { ...facts, ...change })).toEqual({ granted: false, reason });
  });
});

describe("the password factor", () => {
  it("is satisfied by the right password, or where none is and none is needed", () => {
    const lenient = { ...rules, allowEmptyPassword: true };
    expect(isPasswordSatisfied(rules, { password: "right", userHasPassword: true })).toBe(true);
    expect(isPasswordSatisfied(lenient, { password: "absent", userHasPassword: false })).toBe(true);
    expect(isPasswordSatisfied(rules, { password: "absent", userHasPassword: false })).toBe(false);
    for (const password of ["wrong", "absent"] as const) {
      expect(isPasswordSatisfied(lenient, { password, userHasPassword: true })).toBe(false);
    }
    expect(isPasswordSatisfied(lenient, { password: "wrong", userHasPassword: false })).toBe(false);
  });
});
