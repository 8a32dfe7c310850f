import { describe, expect, test } from "vitest";
import {
  deviceCap,
  newDevice,
  readOptions,
  refusalOf,
  userList,
} from "../../../../../lib/connector/idp/pingone/wire.ts";

const least = {
  rp: { id: "keys.example" },
  user: { id: [1], name: "jan" },
  challenge: [1],
  pubKeyCredParams: [{ type: "public-key", alg: "-7" }],
};
const read = (changes: object = {}) => readOptions(JSON.stringify({ ...least, ...changes }));
const plain = {
  rp: { id: "keys.example", name: "keys.example" },
  user: { id: "AQ", name: "jan", displayName: "jan" },
  challenge: "AQ",
  pubKeyCredParams: [{ type: "public-key", alg: -7 }],
};

describe("creation options of PingOne", () => {
  test("have no member for a missing or null one", () => {
    expect(read()).toEqual(plain);
    const nulls = {
      rp: { id: "keys.example", name: null },
      user: { id: [1], name: "jan", displayName: null },
      timeout: null,
      excludeCredentials: null,
      authenticatorSelection: null,
      attestation: null,
      extensions: null,
    };
    expect(read(nulls)).toEqual(plain);
    expect(Object.keys(read(nulls) ?? {})).toEqual(Object.keys(plain));
  });

  test("have the relying party id for an empty name, and no invalid time-out", () => {
    expect(read({ rp: { id: "keys.example", name: "" } })).toEqual(plain);
    expect(read({ timeout: "soon" })).toEqual(plain);
    expect(read({ timeout: "60000" })).toEqual({ ...plain, timeout: 60_000 });
  });

  test.each([
    ["bytes that are none", { challenge: [300] }],
    ["bytes that are less than none", { challenge: [-129] }],
    ["half a byte", { challenge: [0.5] }],
    ["no bytes", { challenge: [] }],
    ["text that is no base64", { challenge: "a b" }],
    ["no text", { challenge: "" }],
    ["an algorithm that is no number", { pubKeyCredParams: [{ type: "public-key", alg: "ES256" }] }],
    ["an algorithm that is no whole number", { pubKeyCredParams: [{ type: "public-key", alg: "-7.5" }] }],
    ["no algorithm", { pubKeyCredParams: [{ type: "public-key", alg: "" }] }],
    ["another type of credential", { pubKeyCredParams: [{ type: "password", alg: -7 }] }],
    ["a relying party without id", { rp: { id: "", name: "Keys" } }],
    ["an excluded credential without bytes", { excludeCredentials: [{ type: "public-key", id: [] }] }],
  ])("are unreadable with %s", (_, changes) => {
    expect(read(changes)).toBeUndefined();
  });
});

test("responses of PingOne must have ids that are not empty", () => {
  const users = (id: string) => userList.safeParse({ _embedded: { users: [{ id, username: "jan" }] } }).success;
  expect([users("u"), users("")]).toEqual([true, false]);
  expect([newDevice.safeParse({ id: "d" }).success, newDevice.safeParse({ id: "" }).success]).toEqual([true, false]);
});

describe("a refusal of PingOne", () => {
  test("has its code and each message once", () => {
    const details = [{ code: "INVALID_VALUE" }, { message: "Wrong." }, { message: "No." }, { message: "Wrong." }];
    expect(refusalOf({ code: "INVALID_DATA", message: "No.", details })).toEqual({
      code: "INVALID_DATA",
      detail: "No. Wrong.",
    });
  });

  test("has its code beside members that are null", () => {
    expect(refusalOf({ code: "NOT_FOUND", message: null, details: null })).toEqual({ code: "NOT_FOUND", detail: "" });
    const details = [
      { code: null, message: "No." },
      { code: deviceCap, message: null },
    ];
    expect(refusalOf({ code: "REQUEST_LIMITED", message: null, details })).toEqual({ code: deviceCap, detail: "No." });
  });

  test("means the maximum number of devices if any of its details says so", () => {
    const details = [{ code: "OTHER" }, { code: deviceCap }];
    expect(refusalOf({ code: "REQUEST_LIMITED", details }).code).toBe("LIMIT_EXCEEDED");
    expect(refusalOf({ code: "REQUEST_LIMITED", details: [{ code: "OTHER" }] }).code).toBe("REQUEST_LIMITED");
  });

  test("is read without valid details, and may be any body", () => {
    expect(refusalOf({ code: "X", message: "No.", details: "none" })).toEqual({ code: "X", detail: "No." });
    for (const body of [undefined, null, "", [], { code: 7 }]) expect(refusalOf(body).code).toBeUndefined();
  });
});
