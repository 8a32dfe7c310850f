import { describe, expect, test } from "vitest";
import {
  base64Text,
  creationOptionsSchema,
  readCreationOptions,
} from "../../../../lib/connector/idp/creation-options.ts";
import { pingBinary } from "../../../../lib/connector/idp/ping.ts";
import { PeerFailure } from "../../../../lib/platform/peer-failure.ts";

const least = {
  rp: { id: "keys.example" },
  user: { id: "AQ", name: "jan" },
  challenge: "AQ",
  pubKeyCredParams: [{ type: "public-key", alg: -7 }],
};
const plain = {
  rp: { id: "keys.example", name: "keys.example" },
  user: { id: "AQ", name: "jan", displayName: "jan" },
  challenge: "AQ",
  pubKeyCredParams: [{ type: "public-key", alg: -7 }],
};
const schema = creationOptionsSchema({ binary: base64Text });
const read = (changes: object = {}) => readCreationOptions(schema, { ...least, ...changes }, { peer: "IdP main" });
const readPing = (changes: object) =>
  readCreationOptions(creationOptionsSchema({ binary: pingBinary }), { ...least, ...changes }, { peer: "IdP main" });

const nestedLists = (depth: number) => JSON.parse("[".repeat(depth) + "]".repeat(depth));

/** The members that a refusal names. */
function wrongIn(work: () => unknown): string {
  try {
    work();
  } catch (error) {
    expect(error).toBeInstanceOf(PeerFailure);
    expect(error).toMatchObject({ kind: "refused", code: "unusable_options", isTransient: false });
    return (error as PeerFailure).detail ?? "";
  }
  throw new Error("the options are usable");
}

describe("creation options", () => {
  test("have no member for a missing or null one", () => {
    const nulls = {
      rp: { id: "keys.example", name: null },
      user: { id: "AQ", name: "jan", displayName: null },
      timeout: null,
      excludeCredentials: null,
      authenticatorSelection: null,
      attestation: null,
      extensions: null,
    };
    for (const changes of [{}, nulls]) {
      expect(read(changes)).toEqual(plain);
      expect(Object.keys(read(changes))).toEqual(Object.keys(plain));
    }
    expect(read({ rp: { id: "keys.example", name: "" } })).toEqual(plain);
  });

  test("are read without entries of unknown types, which WebAuthn ignores", () => {
    const params = [{ type: "future-key", alg: "x" }, ...least.pubKeyCredParams, { type: "future-key" }];
    const excluded = [{ type: "future-key" }, { type: "public-key", id: "AQ" }, { id: "AQI" }];
    expect(read({ pubKeyCredParams: params, excludeCredentials: excluded })).toEqual({
      ...plain,
      excludeCredentials: [
        { type: "public-key", id: "AQ" },
        { type: "public-key", id: "AQI" },
      ],
    });
  });

  test("are read with numbers as text", () => {
    const params = [{ type: "public-key", alg: "-257" }];
    expect(read({ pubKeyCredParams: params, timeout: "60000" })).toEqual({
      ...plain,
      pubKeyCredParams: [{ type: "public-key", alg: -257 }],
      timeout: 60_000,
    });
  });

  test("are read without values that WebAuthn ignores or that are hints", () => {
    for (const timeout of ["soon", -1, 2 ** 32, 0.5, {}]) expect(read({ timeout })).toEqual(plain);
    for (const attestation of ["future", 7, ""]) expect(read({ attestation })).toEqual(plain);
    expect(read({ attestation: "enterprise" })).toEqual({ ...plain, attestation: "enterprise" });
    const unknown = {
      authenticatorAttachment: "future",
      residentKey: 7,
      userVerification: {},
      requireResidentKey: "x",
    };
    const selection = { userVerification: "required", requireResidentKey: "true", more: 1 };
    expect(read({ authenticatorSelection: unknown })).toEqual({ ...plain, authenticatorSelection: {} });
    expect(read({ authenticatorSelection: selection })).toEqual({
      ...plain,
      authenticatorSelection: { ...selection, requireResidentKey: true },
    });
  });

  test("have binary values as base64url, from base64 in either alphabet", () => {
    for (const challenge of ["+/8=", "-_8", "+/8", "-_8="]) expect(read({ challenge }).challenge).toBe("-_8");
    expect(readPing({ challenge: [-5, 255] }).challenge).toBe("-_8");
  });

  test.each<[string, object, string]>([
    ["bytes that are none", { challenge: [300] }, "challenge"],
    ["bytes that are less than none", { challenge: [-129] }, "challenge"],
    ["half a byte", { challenge: [0.5] }, "challenge"],
    ["no bytes", { challenge: [] }, "challenge"],
    ["text that is no base64", { challenge: "a b" }, "challenge"],
    ["text that is cut off", { challenge: "AQIDB" }, "challenge"],
    ["no text", { challenge: "" }, "challenge"],
    ["a challenge that is too long", { challenge: Buffer.alloc(24_577).toString("base64") }, "challenge"],
    ["no user handle", { user: { name: "jan" } }, "user.id"],
    ["a user handle of 65 bytes", { user: { id: Buffer.alloc(65).toString("base64"), name: "jan" } }, "user.id"],
    ["a name with a line break", { user: { id: "AQ", name: "jan\njan" } }, "user.name"],
    ["a name with half a character", { user: { id: "AQ", name: "jan\ud800" } }, "user.name"],
    ["a name that is too long", { user: { id: "AQ", name: "j", displayName: "j".repeat(257) } }, "user.displayName"],
    ["a name of the relying party with a null", { rp: { id: "keys.example", name: "a\u0000" } }, "rp.name"],
    [
      "an algorithm that is no number",
      { pubKeyCredParams: [{ type: "public-key", alg: "ES256" }] },
      "pubKeyCredParams.0.alg",
    ],
    [
      "an algorithm that is no whole number",
      { pubKeyCredParams: [{ type: "public-key", alg: "-7.5" }] },
      "pubKeyCredParams.0.alg",
    ],
    ["no algorithm", { pubKeyCredParams: [{ type: "public-key", alg: "" }] }, "pubKeyCredParams.0.alg"],
    ["no entry", { pubKeyCredParams: [] }, "pubKeyCredParams"],
    ["entries of unknown types only", { pubKeyCredParams: [{ type: "password", alg: -7 }] }, "pubKeyCredParams"],
    ["extensions that are nested without an end", { extensions: { nested: nestedLists(50_000) } }, "extensions"],
    ["a relying party without id", { rp: { id: "", name: "Keys" } }, "rp.id"],
    [
      "an excluded credential without bytes",
      { excludeCredentials: [{ type: "public-key", id: [] }] },
      "excludeCredentials.0.id",
    ],
    [
      "an excluded id of 1,024 bytes",
      { excludeCredentials: [{ id: Buffer.alloc(1024).toString("base64") }] },
      "excludeCredentials.0.id",
    ],
  ])("are refused with %s, and the refusal names the member", (_, changes, member) => {
    expect(wrongIn(() => readPing(changes)).split(" ")[0]).toBe(member);
  });

  test.each(["", "  ", "\u200b", "\u2800"])(
    "are refused with the blank user name %j, which the delivery service refuses",
    name => {
      expect(wrongIn(() => read({ user: { id: "AQ", name } }))).toBe("user.name must not be blank");
    },
  );

  test("are refused as a whole if they are no object, and the refusal names every member otherwise", () => {
    expect(wrongIn(() => readCreationOptions(schema, undefined, { peer: "IdP main" }))).toBe(
      "the object is missing or cannot be read",
    );
    expect(wrongIn(() => read({ challenge: "a b", rp: { id: "a b" } }))).toBe(
      "rp.id must be a domain in lower case, without scheme, port and path; the relying party is no domain; challenge must be base64url",
    );
  });

  test("are refused if they have another relying party than the request", () => {
    expect(() =>
      readCreationOptions(schema, least, { peer: "IdP main", expectedRelyingPartyId: "other.example" }),
    ).toThrow(expect.objectContaining({ kind: "refused", code: "unusable_options" }));
  });
});

describe("a relying party id", () => {
  const longest = `${"a".repeat(63)}.${"b".repeat(63)}.${"c".repeat(63)}.${"d".repeat(61)}`;
  test.each(["login.microsoft.com", "localhost", "xn--bcher-kva.example", "a-b.c1", "1.example", longest])(
    "may be %s",
    id => {
      expect(read({ rp: { id } }).rp.id).toBe(id);
    },
  );

  test.each([
    "https://login.microsoft.com",
    "https://keys.example:3002",
    "keys.example.",
    ".keys.example",
    "keys .example",
    "keys_a.example",
    "keys-.example",
    "Keys.example",
    "bücher.example",
    "127.0.0.1",
    "0x7f",
    "[::1]",
    "keys.example\n",
    `${"a".repeat(64)}.example`,
    `a${longest}`,
  ])("may not be %j, which is no domain", id => {
    expect(wrongIn(() => read({ rp: { id } }))).toMatch(/^rp\.id .*is no domain$/);
  });
});
