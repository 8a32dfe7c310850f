import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { readLiteral, readScript } from "../../../../../lib/connector/idp/aic/read-script.ts";
import { measureCpu } from "../../../../support/cpu-time.ts";

const script = (displayName: string) => `/*
 * A header with an odd " and a { in it
 */
if (!window.PublicKeyCredential) { document.getElementById('webAuthnOutcome').value = "unsupported"; }
var publicKey = {
    "challenge": new Int8Array([102, -15, -36]).buffer,
    // The relying party's "name: {
    rp: { id: "keys.example", name: "Keys" },
    user: {
        id: Uint8Array.from("NTdhNWI0", function (c) { return c.charCodeAt(0) }),
        displayName: ${displayName}
    },
    pubKeyCredParams: [
        { type: "public-key", alg: -7 }
       ,{ "type": "public-key", "alg": -257 }
    ],
    excludeCredentials: [{ "id": new Uint8Array([64]).buffer }, ],
    attestation: "none", timeout: 60000,
};
navigator.credentials.create({ publicKey: publicKey }).then(function (made) { document.value = "{"; });`;

const options = (displayName: string) => ({
  challenge: [102, -15, -36],
  rp: { id: "keys.example", name: "Keys" },
  user: { id: "NTdhNWI0", displayName },
  pubKeyCredParams: [
    { type: "public-key", alg: -7 },
    { type: "public-key", alg: -257 },
  ],
  excludeCredentials: [{ id: [64] }],
  attestation: "none",
  timeout: 60_000,
});

describe("a registration script of AM", () => {
  test("is read as the options that it passes to the browser", () => {
    expect(readScript(script('"Jan"'))).toEqual(options("Jan"));
  });

  test("may contain any text, which is not part of its code", () => {
    const sly = '" }}}; , challenge: new Int8Array([1]).buffer, // /* { ) a.buffer function (c) {} )';
    expect(readScript(script(JSON.stringify(sly)))).toEqual(options(sly));
    fc.assert(
      fc.property(fc.string({ unit: "grapheme" }), name => {
        expect(readScript(script(JSON.stringify(name)))).toEqual(options(name));
      }),
    );
  });

  test("may have more escapes than JSON", () => {
    expect(readScript(script(String.raw`"O\'Neil \x26 \u0041 \\x41 \"son\""`))).toEqual(
      options(String.raw`O'Neil & A \x41 "son"`),
    );
  });

  test("has options under one name only", () => {
    expect(readScript("var notpublicKey = { a: 1 }; var publicKey = { b: 2 };")).toEqual({ b: 2 });
  });

  test("is not read if it has no such object, or one with other things than values", () => {
    for (const text of [
      "",
      "var options = {};",
      "publicKey = {",
      "publicKey = { a: b() }",
      "publicKey = { a: 1",
      "publicKey = { a: 1; }",
      "publicKey = { [: 1 }",
    ])
      expect(readScript(text)).toBeUndefined();
    expect(readLiteral("[1")).toBeUndefined();
  });

  test("may be any text, and no part of it is executed", () => {
    fc.assert(fc.property(fc.string(), text => void readScript(`publicKey = {${text}}`)));
    expect(readLiteral('{"a": globalThis.process.exit()}')).toBeUndefined();
  });
});

describe("a malicious script", () => {
  const longest = 64 * 1024;
  test.each([
    ["a word without a colon", "a"],
    ["texts that do not end", '\\"'],
    ["comments that do not end", "/*"],
    ["lists in lists", "["],
    ["objects in objects", "{a:"],
    ["functions that do not end", ", function ("],
    ["white space", " \t"],
    ["commas", ", "],
    ["arrays of bytes", "new Int8Array("],
    ["numbers", "1e+"],
  ])("is read in time proportional to its length: %s", (_, unit) => {
    const text = unit.repeat(longest / unit.length);
    const cpuMs = measureCpu();
    for (const script of [`publicKey = {${text}`, `publicKey = { a: ${text}`, `publicKey = { a: "${text}`, text])
      expect(readScript(script)).toBeUndefined();
    expect(readLiteral(text)).toBeUndefined();
    expect(cpuMs()).toBeLessThan(1000);
  });
});
