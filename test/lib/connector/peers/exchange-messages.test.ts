import { randomBytes } from "node:crypto";
import fc from "fast-check";
import {
  CompactEncrypt,
  CompactSign,
  calculateJwkThumbprint,
  decodeProtectedHeader,
  exportJWK,
  generateKeyPair,
  type JWK,
} from "jose";
import { beforeAll, describe, expect, test } from "vitest";
import { ExchangeError, type FindSigningKey } from "../../../../lib/connector/peers/exchange-envelope.ts";
import {
  decodeCredentialResponse,
  decodePinResponse,
  encodeCredentialRequest,
  encodePinRequest,
  makeResponseKey,
} from "../../../../lib/connector/peers/exchange-messages.ts";
import type { PublicKey } from "../../../../lib/connector/peers/jwks.ts";
import { PeerFailure } from "../../../../lib/platform/peer-failure.ts";
import { openRequests, sealResponse } from "../../../../local/peers/security-key/exchange-format.ts";

const random = (bytes: number) => randomBytes(bytes);
const publicOf = ({ kty, crv, x, y, kid }: JWK) => ({ kty, crv, x, y, kid }) as PublicKey;
const newKey = async (kid: string): Promise<JWK> => {
  const { privateKey } = await generateKeyPair("ES384", { extractable: true });
  return { ...(await exportJWK(privateKey)), kid };
};

let transport: JWK[];
let transportKeys: PublicKey[];
let signKey: JWK;
let ours: Awaited<ReturnType<typeof makeResponseKey>>;
let find: FindSigningKey;
const route = (changes: object = {}) => ({ transportKeys, responseKey: ours.publicJwk, random, ...changes });

beforeAll(async () => {
  transport = await Promise.all([newKey("t1"), newKey("t2"), newKey("t3")]);
  transportKeys = transport.map(publicOf);
  signKey = await newKey("s1");
  ours = await makeResponseKey();
  find = async kid => (kid === "s1" ? publicOf(signKey) : undefined);
});

const base64url = fc
  .uint8Array({ minLength: 1, maxLength: 300 })
  .map(bytes => Buffer.from(bytes).toString("base64url"));
const word = fc.string({ unit: "binary", minLength: 1, maxLength: 40 });
const options = fc.record(
  {
    rp: fc.record({ id: fc.domain(), name: word }),
    user: fc.record({ id: base64url, name: word, displayName: word }),
    challenge: base64url,
    pubKeyCredParams: fc.constant([{ type: "public-key" as const, alg: -7 }]),
    timeout: fc.nat(),
    excludeCredentials: fc.array(fc.record({ type: fc.constant("public-key" as const), id: base64url }), {
      maxLength: 2,
    }),
    authenticatorSelection: fc.constant({ userVerification: "required" }),
    attestation: fc.constant("direct"),
    extensions: fc.constant({ hmacCreateSecret: true }),
  },
  { requiredKeys: ["rp", "user", "challenge", "pubKeyCredParams"] },
);

describe("requests", () => {
  test("reach the key maker unchanged by every transport key", async () => {
    const asked = fc.asyncProperty(options, fc.integer({ min: 4, max: 63 }), async (made, length) => {
      const origin = `https://${made.rp.id}`;
      const credential = await encodeCredentialRequest({ options: made, origin }, route());
      const pin = await encodePinRequest(length, route());
      const opened = await openRequests("", { credentials: [credential], pin }, transport);
      const response_key = { ...ours.publicJwk, use: "enc", alg: "ECDH-ES+A256KW" };
      expect(opened).toEqual({
        credentials: [{ v: 1, type: "credential_request", response_key, origin, public_key: made }],
        pin: { v: 1, type: "pin_request", response_key, pin: { type: "generate", length } },
      });
    });
    await fc.assert(asked, { numRuns: 25 });
  });

  test("are encrypted to a random transport key, in one envelope", async () => {
    const to = async (...bytes: number[]) => {
      const pick = () => Uint8Array.from(bytes);
      return decodeProtectedHeader(await encodePinRequest(6, route({ random: pick })));
    };
    expect((await to(0, 0, 0, 0)).kid).toBe("t1");
    expect((await to(0, 0, 0, 2)).kid).toBe("t3");
    const { epk, ...header } = await to(255, 255, 255, 255);
    expect(header).toEqual({ alg: "ECDH-ES+A256KW", enc: "A256GCM", kid: "t1" });
    expect(epk).toMatchObject({ kty: "EC", crv: "P-384" });
  });

  test("never contain the private response key", async () => {
    const pin = await encodePinRequest(6, route({ responseKey: ours.privateJwk }));
    const opened = await openRequests("", { credentials: [], pin }, transport);
    expect(opened.pin?.response_key).not.toHaveProperty("d");
  });

  test("are rejected without a transport key", async () => {
    await expect(encodePinRequest(6, route({ transportKeys: [] }))).rejects.toThrow(RangeError);
  });
});

test("creates a new P-384 response key each time, with its RFC 7638 thumbprint as id", async () => {
  const other = await makeResponseKey();
  expect(other.publicJwk.x).not.toBe(ours.publicJwk.x);
  for (const { publicJwk, privateJwk } of [ours, other]) {
    expect(Object.keys(publicJwk).sort()).toEqual(["crv", "kid", "kty", "x", "y"]);
    expect(publicJwk).toMatchObject({ kty: "EC", crv: "P-384", kid: await calculateJwkThumbprint({ ...publicJwk }) });
    expect(privateJwk).toEqual({ ...publicJwk, d: expect.any(String) });
  }
});

const credential = {
  v: 1,
  type: "credential_response",
  id: "aWQ",
  response: { clientDataJSON: "e30", attestationObject: "oA" },
  client_extension_results: { credProps: { rk: true } },
};
const pin = { v: 1, type: "pin_response", pin: "482913" };
const answered = (payload: Record<string, unknown>) => sealResponse(payload, { recipient: ours.publicJwk, signKey });
const readPin = (jwe: string, to = ours, keys = find) => decodePinResponse(jwe, to.privateJwk, keys);
const readCredential = (jwe: string) => decodeCredentialResponse(jwe, ours.privateJwk, find);

async function refusal(read: Promise<unknown>) {
  const error = await read.then(
    () => undefined,
    (thrown: unknown) => thrown,
  );
  expect(error).toBeInstanceOf(ExchangeError);
  expect((error as ExchangeError).cause).toBeUndefined();
  return (error as ExchangeError).reason;
}

describe("responses", () => {
  test("are decrypted with their response key to the key maker's content", async () => {
    const read = fc.asyncProperty(base64url, base64url, base64url, async (id, clientDataJSON, attestationObject) => {
      const payload = { ...credential, id, response: { clientDataJSON, attestationObject } };
      expect(await readCredential(await answered(payload))).toEqual({
        credentialId: id,
        clientDataJson: clientDataJSON,
        attestationObject,
        clientExtensionResults: { credProps: { rk: true } },
      });
    });
    await fc.assert(read, { numRuns: 15 });
    const digits = fc.asyncProperty(fc.stringMatching(/^[!-~]{4,63}$/), async made => {
      expect(await readPin(await answered({ ...pin, pin: made }))).toBe(made);
    });
    await fc.assert(digits, { numRuns: 15 });
  });

  test("may have no extension results", async () => {
    const { client_extension_results: _, ...rest } = credential;
    expect(await readCredential(await answered(rest))).toMatchObject({ clientExtensionResults: {} });
  });

  test("are undecryptable for another request", async () => {
    expect(await refusal(readPin(await answered(pin), await makeResponseKey()))).toBe("undecryptable");
  });

  test("are rejected if any byte is changed", async () => {
    const jwe = await answered(pin);
    const changed = fc.asyncProperty(fc.nat(jwe.length - 1), fc.constantFrom("A", "z", "9", "."), async (at, sign) => {
      fc.pre(jwe[at] !== sign);
      const other = jwe.slice(0, at) + sign + jwe.slice(at + 1);
      // The last sign of a part may hold bits that no byte takes.
      const sameBytes = other.split(".").every((part, n) => {
        const original = jwe.split(".")[n] ?? "";
        return Buffer.from(part, "base64url").equals(Buffer.from(original, "base64url"));
      });
      fc.pre(!sameBytes);
      expect(["undecryptable", "malformed"]).toContain(await refusal(readPin(other)));
    });
    await fc.assert(changed, { numRuns: 60 });
  });

  test("are verified with the signing key that they name", async () => {
    const foreign = { ...(await newKey("s1")) };
    const forged = await sealResponse(pin, { recipient: ours.publicJwk, signKey: foreign });
    expect(await refusal(readPin(forged))).toBe("bad_signature");
    const unknown = await sealResponse(pin, { recipient: ours.publicJwk, signKey: { ...signKey, kid: "s2" } });
    expect(await refusal(readPin(unknown))).toBe("unknown_key");
    const { kid: _, ...nameless } = signKey;
    const unnamed = await sealResponse(pin, { recipient: ours.publicJwk, signKey: nameless });
    expect(await refusal(readPin(unnamed))).toBe("malformed");
  });

  test("are not rejected while the signing keys cannot be read", async () => {
    const away = new PeerFailure("delivery service", "sig key set", "unreachable");
    await expect(readPin(await answered(pin), ours, () => Promise.reject(away))).rejects.toBe(away);
  });

  const seal = async (plaintext: string, header: Record<string, unknown> = {}) =>
    new CompactEncrypt(Buffer.from(plaintext))
      .setProtectedHeader({ alg: "ECDH-ES+A256KW", enc: "A256GCM", ...header } as { alg: string; enc: string })
      .encrypt(ours.publicJwk, { crit: { late: true } } as never);
  const sign = async (payload: string, header: Record<string, unknown> = {}) =>
    new CompactSign(Buffer.from(payload))
      .setProtectedHeader({ alg: "ES384", kid: "s1", ...header })
      .sign(signKey, { crit: { late: true } });

  test("are decrypted with ECDH-ES too, and with media types in their headers", async () => {
    const jws = await sign(JSON.stringify(pin), { typ: "JWT" });
    expect(await readPin(await seal(jws, { alg: "ECDH-ES", cty: "JWT" }))).toBe("482913");
  });

  test.each([
    { jku: "https://evil.example/keys" },
    { jwk: {} },
    { x5u: "https://evil.example/cert" },
    { x5c: [] },
    { crit: ["late"], late: true },
    { anything: 1 },
  ])("are rejected with a header %o, inside and outside", async header => {
    const jws = await sign(JSON.stringify(pin));
    expect(await refusal(readPin(await seal(jws, header)))).toBe("malformed");
    expect(await refusal(readPin(await seal(await sign(JSON.stringify(pin), header))))).toBe("malformed");
  });

  test("are rejected if they are compressed", async () => {
    const zipped = await seal(await sign(JSON.stringify(pin)), { zip: "DEF" });
    expect(await refusal(readPin(zipped))).toBe("malformed");
  });

  test("are rejected in other algorithms", async () => {
    const jws = await sign(JSON.stringify(pin));
    expect(await refusal(readPin(await seal(jws, { enc: "A128GCM" })))).toBe("malformed");
    expect(await refusal(readPin(await seal(jws, { alg: "ECDH-ES+A128KW" })))).toBe("malformed");
    const unsigned = `${Buffer.from('{"alg":"none","kid":"s1"}').toString("base64url")}.${Buffer.from(JSON.stringify(pin)).toString("base64url")}.`;
    expect(await refusal(readPin(await seal(unsigned)))).toBe("malformed");
    expect(await refusal(readPin(await seal(JSON.stringify(pin))))).toBe("malformed");
  });

  test.each(["", "garbage", "a.b.c.d.e", "....", "é"])("are malformed if they are not a JWE: %j", async text => {
    expect(await refusal(readPin(text))).toBe("malformed");
  });

  test.each([
    ["another version", { ...pin, v: 2 }],
    ["another type", { ...pin, type: "credential_response" }],
    ["too short a PIN", { ...pin, pin: "123" }],
    ["too long a PIN", { ...pin, pin: "1".repeat(64) }],
    ["a PIN with a line break", { ...pin, pin: "1234\n5" }],
    ["a PIN that turns its direction", { ...pin, pin: "1234\u202e5" }],
    ["half a character", { ...pin, pin: "1234\ud800" }],
    ["a number", { ...pin, pin: 482913 }],
  ])("are malformed with an undocumented payload: %s", async (_, payload) => {
    expect(await refusal(readPin(await answered(payload)))).toBe("malformed");
  });

  test.each(["", "aWQ=", "aWQaa"])("are malformed with the credential id %j, or without a response", async id => {
    for (const payload of [
      { ...credential, id },
      { ...credential, response: {} },
    ])
      expect(await refusal(readCredential(await answered(payload)))).toBe("malformed");
  });

  test("are malformed with a payload that is not JSON, and the error contains nothing of it", async () => {
    const jwe = await seal(await sign("482913 is the PIN"));
    const error = await readPin(jwe).catch((thrown: unknown) => thrown);
    expect(error).toMatchObject({ reason: "malformed", message: "Exchange format: malformed" });
    expect((error as Error).cause).toBeUndefined();
  });
});
