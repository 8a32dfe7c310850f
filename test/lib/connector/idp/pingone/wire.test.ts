import { describe, expect, test } from "vitest";
import { deviceCap, deviceList, errorOf, newDevice, userList } from "../../../../../lib/connector/idp/pingone/wire.ts";

test("responses of PingOne must have ids that are one segment of an address", () => {
  const users = (id: string) => userList.safeParse({ _embedded: { users: [{ id, username: "jan" }] } }).success;
  const device = (id: string) => newDevice.safeParse({ id }).success;
  const listed = (id: string) =>
    deviceList.parse({ _embedded: { devices: [{ id, status: "ACTIVE" }] } })[0] !== undefined;
  for (const isAccepted of [users, device, listed]) {
    expect(isAccepted("6f1c1a52-2f7e-4f0d-8a57-0c3f3f0f9d11")).toBe(true);
    // A deletion of the device `..` would be one of the user.
    for (const id of ["", ".", "..", "a/b", "a?b", "a".repeat(129)]) expect(isAccepted(id)).toBe(false);
  }
});

describe("a refusal of PingOne", () => {
  test("has its code and each message once", () => {
    const details = [{ code: "INVALID_VALUE" }, { message: "Wrong." }, { message: "No." }, { message: "Wrong." }];
    expect(errorOf({ code: "INVALID_DATA", message: "No.", details })).toEqual({
      code: "INVALID_DATA",
      detail: "No. Wrong.",
    });
  });

  test("has its code beside members that are null", () => {
    expect(errorOf({ code: "NOT_FOUND", message: null, details: null })).toEqual({ code: "NOT_FOUND", detail: "" });
    const details = [
      { code: null, message: "No." },
      { code: deviceCap, message: null },
    ];
    expect(errorOf({ code: "REQUEST_LIMITED", message: null, details })).toEqual({ code: deviceCap, detail: "No." });
  });

  test("means the maximum number of devices if any of its details says so", () => {
    const details = [{ code: "OTHER" }, { code: deviceCap }];
    expect(errorOf({ code: "REQUEST_LIMITED", details }).code).toBe("LIMIT_EXCEEDED");
    expect(errorOf({ code: "REQUEST_LIMITED", details: [{ code: "OTHER" }] }).code).toBe("REQUEST_LIMITED");
  });

  test("is read without valid details, and may be any body", () => {
    expect(errorOf({ code: "X", message: "No.", details: "none" })).toEqual({ code: "X", detail: "No." });
    for (const body of [undefined, null, "", [], { code: 7 }]) expect(errorOf(body).code).toBeUndefined();
  });
});
