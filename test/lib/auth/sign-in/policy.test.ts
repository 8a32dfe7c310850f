import { describe, expect, it } from "vitest";
import { isPasswordSatisfied, refusalOf, type SignInFacts } from "../../../../lib/auth/sign-in/check-factors.ts";

const booleans = [true, false];
const facts: SignInFacts = {
  isDisabled: false,
  mustChange: false,
  password: "right",
  userHasPassword: true,
  otp: "absent",
  needsOtp: false,
};

/** Every case there is: whether empty passwords are allowed, and the facts. A right password needs one to be right. */
const cases = booleans
  .flatMap(allowEmptyPassword =>
    (["right", "wrong", "absent"] as const).flatMap(password =>
      (["valid", "refused", "absent"] as const).flatMap(otp =>
        booleans.flatMap(userHasPassword =>
          booleans.map(needsOtp => ({ allowEmptyPassword, ...facts, password, otp, userHasPassword, needsOtp })),
        ),
      ),
    ),
  )
  .filter(({ password, userHasPassword }) => userHasPassword || password !== "right");
const granted = cases.filter(each => refusalOf(each, each) === undefined);

describe("a sign-in", () => {
  it("is refused to a disabled user in every case", () => {
    for (const each of cases) expect(refusalOf(each, { ...each, isDisabled: true })).toBe("disabled");
  });

  it("is refused in the end if the password must be changed: only in the cases that it would be granted", () => {
    for (const each of cases)
      expect(refusalOf(each, { ...each, mustChange: true })).toBe(refusalOf(each, each) ?? "must_change");
  });

  it("by a user with a password needs that password, and an OTP if one is needed; a wrong OTP always fails", () => {
    const ofUsers = cases.filter(({ userHasPassword }) => userHasPassword);
    for (const each of ofUsers) {
      const { password, otp, needsOtp } = each;
      const isSufficient = password === "right" && (otp === "valid" || (otp === "absent" && !needsOtp));
      expect(granted.includes(each)).toBe(isSufficient);
    }
  });

  it("by a user without a password needs the setting, a valid OTP, and no password given", () => {
    const without = granted.filter(({ userHasPassword }) => !userHasPassword);
    expect(without.length).toBeGreaterThan(0);
    for (const { allowEmptyPassword, otp, password } of without)
      expect([allowEmptyPassword, otp, password]).toEqual([true, "valid", "absent"]);
  });

  it.each([
    [{ password: "wrong" }, "wrong_password"],
    [{ password: "wrong", otp: "refused" }, "wrong_password"],
    [{ password: "absent" }, "no_password"],
    [{ otp: "refused" }, "wrong_otp"],
    [{ needsOtp: true }, "no_otp"],
  ] as const)("is refused with %j for the reason %s", (change, reason) => {
    expect(refusalOf({ allowEmptyPassword: false }, { ...facts, ...change })).toBe(reason);
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
    expect(isPasswordSatisfied({ allowEmptyPassword }, { password, userHasPassword })).toBe(expected);
  });
});
