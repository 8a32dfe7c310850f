import { describe, expect, it } from "vitest";
import { otpPolicies } from "../../../../lib/auth/settings.ts";
import {
  isPasswordSatisfied,
  refusalOf,
  type SignInFacts,
  type SignInRules,
} from "../../../../lib/auth/sign-in/check-factors.ts";

const booleans = [true, false];

const rules: SignInRules = { otpPolicy: "when-assigned", allowEmptyPassword: false };
const facts: SignInFacts = {
  isDisabled: false,
  mustChange: false,
  password: "right",
  userHasPassword: true,
  otp: "absent",
  userHasSecondFactor: false,
};

/** Every combination of these values. */
const combinations = <T extends object>(values: { readonly [K in keyof T]: readonly T[K][] }): readonly T[] =>
  Object.entries<readonly unknown[]>(values).reduce<readonly object[]>(
    (all, [name, each]) => all.flatMap(some => each.map(value => ({ ...some, [name]: value }))),
    [{}],
  ) as readonly T[];

/** Every case there is. A right password needs one to be right. */
const cases = combinations<SignInRules>({ otpPolicy: otpPolicies, allowEmptyPassword: booleans })
  .flatMap(rules =>
    combinations<Pick<SignInFacts, "password" | "otp" | "userHasPassword" | "userHasSecondFactor">>({
      password: ["right", "wrong", "absent"],
      otp: ["valid", "refused", "absent"],
      userHasPassword: booleans,
      userHasSecondFactor: booleans,
    }).map(given => [rules, { ...facts, ...given }] as const),
  )
  .filter(([, { password, userHasPassword }]) => userHasPassword || password !== "right");
const granted = cases.filter(([rules, facts]) => refusalOf(rules, facts) === undefined);

describe("a sign-in", () => {
  it("is refused to a disabled user in every case", () => {
    for (const [rules, facts] of cases) {
      expect(refusalOf(rules, { ...facts, isDisabled: true })).toBe("disabled");
    }
  });

  it("is refused in the end if the password must be changed: only in the cases that it would be granted", () => {
    for (const [rules, facts] of cases) {
      expect(refusalOf(rules, { ...facts, mustChange: true })).toBe(refusalOf(rules, facts) ?? "must_change");
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
      expect(refusalOf(rules, { ...facts, userHasSecondFactor })).toBe(userHasSecondFactor ? "no_otp" : undefined);
      expect(refusalOf(rules, { ...facts, userHasSecondFactor, otp: "valid" })).toBeUndefined();
    }
  });

  it("under the policy `never` needs none of a user with a password", () => {
    expect(refusalOf({ ...rules, otpPolicy: "never" }, { ...facts, userHasSecondFactor: true })).toBeUndefined();
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
  ] as const)("is refused with %j for the reason %s", (change, reason) => {
    expect(refusalOf(rules, { ...facts, ...change })).toBe(reason);
  });
});

describe("the password factor", () => {
  it.each([
    ["right", true, false, true],
    ["right", true, true, true],
    ["wrong", true, true, false],
    ["absent", true, true, false],
    ["absent", false, true, true],
    ["absent", false, false, false],
    ["wrong", false, true, false],
  ] as const)("%s, of a user with a password: %s, where none is allowed: %s, is satisfied: %s", (...given) => {
    const [password, userHasPassword, allowEmptyPassword, expected] = given;
    expect(isPasswordSatisfied({ ...rules, allowEmptyPassword }, { password, userHasPassword })).toBe(expected);
  });
});
