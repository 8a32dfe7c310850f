import { createHash } from "node:crypto";
import { decode, encode } from "cborg";
import fc from "fast-check";
import { beforeAll, describe, expect, test } from "vitest";
import type { Credential } from "../../../../lib/connector/model/credential.ts";
import type { Attestation, Challenge } from "../../../../lib/connector/model/webauthn.ts";
import { aaguidOf, bindingOf, bindResponse } from "../../../../lib/connector/peers/bind-response.ts";
import { type Authenticator, createAuthenticator } from "../../../../local/peers/security-key/authenticator.ts";
import { AAGUIDS, createAuthenticatorKeys } from "../../../../local/peers/security-key/authenticator-keys.ts";

let authenticator: Authenticator;
beforeAll(async () => {
  authenticator = createAuthenticator(await createAuthenticatorKeys());
});

const base64url = (bytes: Uint8Array) => Buffer.from(bytes).toString("base64url");
const challengeOf = (challenge: string, changes: Partial<Challenge> = {}): Challenge => ({
  options: {
    rp: { id: "login.example", name: "Example" },
    user: { id: "dXNlcg", name: "jan", displayName: "Jan" },
    challenge,
    pubKeyCredParams: [{ type: "public-key", alg: -7 }],
    authenticatorSelection: { userVerification: "required" },
  },
  origin: "https://login.example",
  idpState: {},
  ...changes,
});

function answerTo({ options, origin }: Challenge): Attestation {
  const { id, clientDataJSON, attestationObject } = authenticator.create(options, origin);
  return { credentialId: id, clientDataJson: clientDataJSON, attestationObject, clientExtensionResults: {} };
}

const challenge = challengeOf(base64url(Buffer.alloc(5000, 7)));

const withClientData = (answer: Attestation, change: object): Attestation => {
  const data = JSON.parse(Buffer.from(answer.clientDataJson, "base64url").toString());
  return { ...answer, clientDataJson: base64url(Buffer.from(JSON.stringify({ ...data, ...change }))) };
};
const withAuthData = (answer: Attestation, change: (data: Buffer) => Uint8Array): Attestation => {
  const object = decode(Buffer.from(answer.attestationObject, "base64url"));
  const changed = { ...object, authData: change(Buffer.from(object.authData)) };
  return { ...answer, attestationObject: base64url(encode(changed)) };
};
const withoutFlag = (answer: Attestation, flag: number) =>
  withAuthData(answer, data => {
    data.writeUInt8(data.readUInt8(32) & ~flag, 32);
    return data;
  });

describe("the binding of a response to its request", () => {
  test("accepts the response to the request, for any challenge", () => {
    const bound = fc.property(fc.uint8Array({ minLength: 16, maxLength: 6000 }), bytes => {
      const asked = challengeOf(base64url(bytes));
      expect(bindResponse(answerTo(asked), bindingOf(asked))).toBeUndefined();
    });
    fc.assert(bound, { numRuns: 30 });
  });

  test("needs only the SHA-256 of the challenge", () => {
    const hash = createHash("sha256").update(Buffer.alloc(5000, 7)).digest("base64url");
    expect(bindingOf(challenge)).toEqual({
      challengeHash: hash,
      origin: "https://login.example",
      relyingPartyId: "login.example",
      userVerification: true,
    } satisfies NonNullable<Credential["binding"]>);
  });

  test("rejects a response to another request by its challenge", () => {
    const other = challengeOf(base64url(Buffer.alloc(5000, 8)));
    expect(bindResponse(answerTo(other), bindingOf(challenge))).toBe("challenge");
  });

  test("requires client data of a creation", () => {
    const asserted = withClientData(answerTo(challenge), { type: "webauthn.get" });
    expect(bindResponse(asserted, bindingOf(challenge))).toBe("type");
  });

  test.each(["https://login.example.evil", "http://login.example", "https://login.example/", "https://Login.example"])(
    "the origin is the one sent, not %s",
    origin => {
      expect(bindResponse(withClientData(answerTo(challenge), { origin }), bindingOf(challenge))).toBe("origin");
    },
  );

  test("requires the hash of the relying party id", () => {
    const elsewhere = { ...challenge, options: { ...challenge.options, rp: { id: "other.example", name: "Other" } } };
    expect(bindResponse(answerTo(elsewhere), bindingOf(challenge))).toBe("relying_party");
  });

  test("requires the credential id of the authenticator data, in one notation", () => {
    const answer = answerTo(challenge);
    const { credentialId } = answerTo(challenge);
    expect(bindResponse({ ...answer, credentialId }, bindingOf(challenge))).toBe("credential_id");
    const padded = { ...answer, credentialId: `${answer.credentialId}=` };
    expect(bindResponse(padded, bindingOf(challenge))).toBe("credential_id");
  });

  test("requires user presence, and user verification if the options require it", () => {
    const answer = answerTo(challenge);
    expect(bindResponse(withoutFlag(answer, 0x01), bindingOf(challenge))).toBe("user_presence");
    expect(bindResponse(withoutFlag(answer, 0x04), bindingOf(challenge))).toBe("user_verification");
    const relaxed = { ...bindingOf(challenge), userVerification: false };
    expect(bindResponse(withoutFlag(answer, 0x04), relaxed)).toBeUndefined();
  });

  test("rejects authenticator data without a credential as unreadable", () => {
    const answer = answerTo(challenge);
    expect(bindResponse(withoutFlag(answer, 0x40), bindingOf(challenge))).toBe("unreadable");
    const nameless = withAuthData(answer, data => {
      data.writeUInt16BE(0, 53);
      return data;
    });
    expect(bindResponse(nameless, bindingOf(challenge))).toBe("unreadable");
  });

  test("rejects authenticator data that is cut off before the public key as unreadable", () => {
    const answer = answerTo(challenge);
    const cut = fc.property(fc.nat(55 + 32), length => {
      const short = withAuthData(answer, data => data.subarray(0, length));
      expect(bindResponse(short, bindingOf(challenge))).toBe("unreadable");
    });
    fc.assert(cut);
  });

  test("rejects any other bytes without an exception", () => {
    const bytes = fc.uint8Array({ maxLength: 200 }).map(base64url);
    const any = fc.property(bytes, bytes, (one, other) => {
      const answer = answerTo(challenge);
      expect(bindResponse({ ...answer, clientDataJson: one }, bindingOf(challenge))).toBe("unreadable");
      expect(bindResponse({ ...answer, attestationObject: other }, bindingOf(challenge))).toBe("unreadable");
    });
    fc.assert(any, { numRuns: 50 });
  });

  test("rejects a CBOR map with a duplicate key as unreadable, because parsers differ", () => {
    const answer = answerTo(challenge);
    const object = Buffer.from(answer.attestationObject, "base64url");
    const authData = encode("authData");
    const at = object.indexOf(authData);
    const twice = Buffer.concat([Buffer.from([0xa4]), object.subarray(1), object.subarray(at)]);
    expect(() => decode(twice)).not.toThrow();
    const doubled = { ...answer, attestationObject: base64url(twice) };
    expect(bindResponse(doubled, bindingOf(challenge))).toBe("unreadable");
  });
});

describe("the model of the authenticator", () => {
  test("is the AAGUID of the attestation as a UUID", () => {
    expect(aaguidOf(answerTo(challenge))).toBe(AAGUIDS.hardware);
  });

  test("is unknown if the AAGUID is zero, or if the response cannot be read", () => {
    const anonymous = withAuthData(answerTo(challenge), data => data.fill(0, 37, 53));
    expect(aaguidOf(anonymous)).toBeUndefined();
    expect(aaguidOf({ attestationObject: "" })).toBeUndefined();
  });
});
