import { describe, expect, it } from "vitest";
import { readOtp } from "../../../../../lib/auth/otpkeys/kinds/split-otp.ts";

describe("an OTP as people and devices send it", () => {
  it.each([
    ["vvccccbcdeft755224", "vvccccbcdeft755224"],
    ["vvccccbcdeft755224\r\n", "vvccccbcdeft755224"],
    [" \tvvccccbcdeft 755 224 ", "vvccccbcdeft755224"],
    ["vvccccbcdeft\u00a0755\u202f224", "vvccccbcdeft755224"],
    ["\ufeffvvccccbcdeft755224\u200b\u2069", "vvccccbcdeft755224"],
    ["\r\n", ""],
  ])("%j is read as %j", (typed, otp) => {
    expect(readOtp(typed)).toBe(otp);
  });

  it.each(["à&é\"'(-è_ç", '=!"§$%&/()', "jxe.uidchtnbpygk", "a-b-c", " ".repeat(257)])("%j is read as it is", text => {
    expect(readOtp(text)).toBe(text);
  });
});
