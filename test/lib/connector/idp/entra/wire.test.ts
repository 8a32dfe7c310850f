import fc from "fast-check";
import { describe, expect, test } from "vitest";
import {
  errorOf,
  graphOptions,
  mayBeCredential,
  normalizeId,
  spellings,
} from "../../../../../lib/connector/idp/entra/wire.ts";

const base64url = (bytes: Uint8Array) => Buffer.from(bytes).toString("base64url");
const padding = (length: number) => (3 - (length % 3)) % 3;
const bytes = fc.uint8Array({ minLength: 16, maxLength: 80 });

/** Four characters that end in 1 can be read both ways. The count of padding is the likelier reading. */
const isAmbiguous = (text: string): boolean => text.length % 4 === 0 && /[AEIMQUYcgkosw048]1$/.test(text);

describe("credential ids in Graph's spellings", () => {
  test("are equal in base64url, padded base64 and base64url with a padding count", () => {
    const samples = fc.property(bytes, id => {
      const base64 = Buffer.from(id).toString("base64");
      fc.pre(!isAmbiguous(base64));
      expect(normalizeId(base64)).toBe(base64url(id));
      expect(normalizeId(`${base64url(id)}${padding(id.length)}`)).toBe(base64url(id));
    });
    fc.assert(samples, { numRuns: 500 });
  });

  test("keep a last digit that is part of the id", () => {
    const samples = fc.property(bytes, id => {
      const text = base64url(id);
      fc.pre(!isAmbiguous(text));
      expect(normalizeId(text)).toBe(text);
    });
    fc.assert(samples, { numRuns: 1000 });
    expect(normalizeId("-2_GRUg2-HYz6_1YG4YRAQ2")).toBe("-2_GRUg2-HYz6_1YG4YRAQ");
    expect(normalizeId("AAA2")).toBe("AAA2");
    expect(normalizeId("AAB1")).toBe("AAB1");
  });

  test("are found in every spelling and no other", () => {
    const samples = fc.property(bytes, id => {
      const text = base64url(id);
      const standard = Buffer.from(id).toString("base64");
      expect([...spellings(text)]).toEqual([...new Set([text, standard, `${text}${padding(id.length)}`])]);
    });
    fc.assert(samples);
  });
});

test("the id of a new method may be the credential's in any spelling, or a GUID, and no other credential's", () => {
  const guid = "6f1c1a52-2f7e-4f0d-8a57-0c3f3f0f9d11";
  const samples = fc.property(bytes, bytes, (id, other) => {
    const text = base64url(id);
    const padded = `${text}${"=".repeat(padding(id.length))}`;
    for (const spelling of [...spellings(text), padded, guid]) expect(mayBeCredential(spelling, text)).toBe(true);
    fc.pre(!spellings(text).has(base64url(other)));
    for (const spelling of spellings(base64url(other))) expect(mayBeCredential(spelling, text)).toBe(false);
  });
  fc.assert(samples);
});

test("creation options of Graph have no member for a null one", () => {
  const least = {
    rp: { id: "login.microsoft.com", name: null },
    user: { id: "AQ", name: "jan", displayName: null },
    challenge: "AQ",
    pubKeyCredParams: [{ type: "public-key", alg: -7 }],
  };
  const nulls = { timeout: null, excludeCredentials: null, attestation: null, extensions: null };
  expect(graphOptions.parse({ ...least, ...nulls, authenticatorSelection: null })).toEqual({
    ...least,
    rp: { id: "login.microsoft.com", name: "login.microsoft.com" },
    user: { id: "AQ", name: "jan", displayName: "jan" },
  });
});

describe("a refusal of Graph", () => {
  test("has the innermost code and the outermost message", () => {
    const innerError = { code: "inner", innerError: { code: "deepest", innerError: { date: "x" } } };
    expect(errorOf({ error: { code: "outer", message: "No.", innerError } })).toEqual({
      code: "deepest",
      detail: "No.",
    });
    expect(errorOf({ error: { code: "outer", message: "No.", innerError: { date: "x" } } }).code).toBe("outer");
  });

  test("has its code and message beside members that are null", () => {
    const innerError = { code: null, innerError: null };
    expect(errorOf({ error: { code: "outer", message: null, innerError } })).toEqual({ code: "outer" });
    expect(errorOf({ error: { code: null, message: "No.", innerError: { code: "inner" } } })).toEqual({
      code: "inner",
      detail: "No.",
    });
  });

  test("may be any body", () => {
    fc.assert(fc.property(fc.anything(), body => void errorOf(body)));
    fc.assert(fc.property(fc.anything(), error => void errorOf({ error })));
    expect(errorOf(undefined)).toEqual({ code: undefined, detail: undefined });
  });
});
