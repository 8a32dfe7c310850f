import { describe, expect, test } from "vitest";
import { end, fillIn, type Step, step } from "../../../../../lib/connector/idp/aic/step.ts";
import { optionsOf, refusalOf } from "../../../../../lib/connector/idp/aic/wire.ts";

const data = {
  _type: "WebAuthn",
  challenge: "+/8=",
  userName: "jan",
  userId: "bm90IGRlY29kZWQ=",
  _relyingPartyId: "keys.example",
  _pubKeyCredParams: [{ type: "public-key", alg: "-7" }],
};
const stepOf = (callback: object): Step => step.parse({ authId: "a", callbacks: [callback] });
const metadata = (changes: object = {}, type = "MetadataCallback") =>
  stepOf({ type, output: [{ name: "data", value: { ...data, ...changes } }] });
const script = (message: unknown) =>
  stepOf({ type: "TextOutputCallback", output: [{ name: "message", value: message }] });
const ofMetadata = (changes: object) => optionsOf(metadata(changes), "MetadataCallback");
const ofScript = (message: unknown) => optionsOf(script(message), "TextOutputCallback");

const literal = (id: string) => `var publicKey = {
  challenge: new Int8Array([1]).buffer,
  rp: { id: ${id}, name: "Keys" },
  user: { id: Uint8Array.from("bm8", function (c) { return c.charCodeAt(0) }), name: "jan" },
  pubKeyCredParams: [{ type: "public-key", alg: -7 }],
};`;

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
    expect(optionsOf(metadata({}, "OtherCallback"), "MetadataCallback")).toBe("absent");
    expect(optionsOf(metadata({}, "OtherCallback"), "OtherCallback")).toMatchObject({ rp: { id: "keys.example" } });
    expect(optionsOf(metadata(), "TextOutputCallback")).toBe("absent");
  });

  test("have no member for an empty literal", () => {
    expect(ofMetadata({ excludeCredentials: "", authenticatorSelection: "" })).toEqual({
      rp: { id: "keys.example", name: "keys.example" },
      user: { id: "Ym05MElHUmxZMjlrWldRPQ", name: "jan", displayName: "jan" },
      challenge: "-_8",
      pubKeyCredParams: [{ type: "public-key", alg: -7 }],
    });
  });

  test("are unreadable without a user handle, and have no relying party if it is null", () => {
    expect(ofMetadata({ userId: "" })).toBe("unreadable");
    expect(ofMetadata({ displayName: null })).toMatchObject({ user: { displayName: "jan" } });
    expect(ofScript(literal("null"))).toBe("no relying party");
    expect(ofScript(literal('"keys.example"'))).toMatchObject({ rp: { id: "keys.example" }, user: { id: "Ym04" } });
  });

  test("are not read from a message that is not a text", () => {
    for (const message of [undefined, null, 7, [literal('"keys.example"')], {}])
      expect(ofScript(message)).toBe("absent");
  });
});

describe("a refusal of AM", () => {
  test("has AM's error code, or its name of the status, and its message", () => {
    const body = { code: 401, reason: "Unauthorized", message: "Session has timed out" };
    expect(refusalOf({ ...body, detail: { errorCode: "110" } })).toEqual({
      code: "110",
      detail: "Session has timed out",
    });
    for (const detail of [undefined, {}, "text", { errorCode: 110 }])
      expect(refusalOf({ ...body, detail })).toEqual({ code: "Unauthorized", detail: "Session has timed out" });
  });

  test("has its code also if the message is null", () => {
    expect(refusalOf({ code: 401, reason: "Unauthorized", message: null, detail: { errorCode: "110" } })).toEqual({
      code: "110",
      detail: undefined,
    });
    expect(refusalOf({ code: 401, reason: "Unauthorized", detail: { errorCode: null } }).code).toBe("Unauthorized");
  });

  test("has nothing from a body that is not AM's", () => {
    for (const body of [
      undefined,
      "x",
      { reason: "Unauthorized", message: "x" },
      { code: "401", reason: "x" },
      { code: 401 },
    ])
      expect(refusalOf(body)).toEqual({ code: undefined, detail: undefined });
  });
});
