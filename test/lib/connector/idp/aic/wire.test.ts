import { describe, expect, test } from "vitest";
import {
  end,
  errorOf,
  fillIn,
  type JourneyStep,
  journeyOptions,
  optionsOf,
  step,
} from "../../../../../lib/connector/idp/aic/wire.ts";

const data = {
  _type: "WebAuthn",
  challenge: "+/8=",
  userName: "jan",
  userId: "bm90IGRlY29kZWQ=",
  _relyingPartyId: "keys.example",
  _pubKeyCredParams: [{ type: "public-key", alg: "-7" }],
};
const metadata = (changes: object = {}, type = "MetadataCallback"): JourneyStep =>
  step.parse({ authId: "a", callbacks: [{ type, output: [{ name: "data", value: { ...data, ...changes } }] }] });
const parsed = (changes: object) =>
  journeyOptions.safeParse(optionsOf(metadata(changes), "MetadataCallback", "default.example")).data;

describe("a step of a journey", () => {
  test("requires an authId and callbacks, and an end requires a member", () => {
    expect(step.safeParse({ authId: "", callbacks: [{ type: "x" }] }).success).toBe(false);
    expect(step.safeParse({ authId: "a", callbacks: [] }).success).toBe(false);
    expect([end.safeParse({}).success, end.safeParse({ realm: "/alpha" }).success]).toEqual([false, true]);
  });

  test("is sent back unchanged, with members that only AM knows", () => {
    const hidden = {
      type: "HiddenValueCallback",
      output: [{ name: "id", value: "webAuthnOutcome", more: 1 }],
      input: [
        { name: "IDToken9", value: "kept", more: 2 },
        { name: "IDToken2", value: "", more: 3 },
      ],
      more: 4,
    };
    const values = { authId: "a", callbacks: [hidden, { type: "Other", more: 5 }], more: 6 };
    const field = { type: "HiddenValueCallback", tokenId: "IDToken2", id: "webAuthnOutcome" };
    expect(fillIn(step.parse(values), field, "outcome")).toEqual({
      ...values,
      callbacks: [
        { ...hidden, input: [hidden.input[0], { name: "IDToken2", value: "outcome", more: 3 }] },
        values.callbacks[1],
      ],
    });
  });
});

describe("creation options of a step", () => {
  test("are read only from the callback that the settings name", () => {
    expect(optionsOf(metadata({}, "OtherCallback"), "MetadataCallback", "")).toBeUndefined();
    expect(optionsOf(metadata({}, "OtherCallback"), "OtherCallback", "")).toMatchObject({ rp: { id: "keys.example" } });
  });

  test("are not usable without a user handle, or with one of more than 64 bytes", () => {
    expect(parsed({ userId: "" })).toBeUndefined();
    expect(parsed({ userId: "a".repeat(65) })).toBeUndefined();
    expect(parsed({ userId: "ä".repeat(32) })).toMatchObject({ user: { displayName: "jan" } });
    expect(parsed({ displayName: null })).toMatchObject({ user: { displayName: "jan" } });
  });
});

describe("a refusal of AM", () => {
  test("has AM's error code, or its name of the status, and its message", () => {
    const body = { code: 401, reason: "Unauthorized", message: "Session has timed out" };
    expect(errorOf({ ...body, detail: { errorCode: "110" } })).toEqual({
      code: "110",
      detail: "Session has timed out",
    });
    for (const detail of [undefined, {}, "text", { errorCode: 110 }])
      expect(errorOf({ ...body, detail })).toEqual({ code: "Unauthorized", detail: "Session has timed out" });
  });

  test("has its code also if the message is null", () => {
    expect(errorOf({ code: 401, reason: "Unauthorized", message: null, detail: { errorCode: "110" } })).toEqual({
      code: "110",
      detail: undefined,
    });
    expect(errorOf({ code: 401, reason: "Unauthorized", detail: { errorCode: null } }).code).toBe("Unauthorized");
  });

  test("has nothing from a body that is not AM's", () => {
    for (const body of [
      undefined,
      "x",
      { reason: "Unauthorized", message: "x" },
      { code: "401", reason: "x" },
      { code: 401 },
    ])
      expect(errorOf(body)).toEqual({ code: undefined, detail: undefined });
  });
});
