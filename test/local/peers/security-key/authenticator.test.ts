import { randomBytes } from "node:crypto";
import { decode, encode } from "cborg";
import { beforeAll, describe, expect, test } from "vitest";
import { type Authenticator, createAuthenticator } from "../../../../local/peers/security-key/authenticator.ts";
import {
  AAGUIDS,
  type AuthenticatorKeys,
  createAuthenticatorKeys,
} from "../../../../local/peers/security-key/authenticator-keys.ts";
import { type AttestationCheck, verifyAttestation } from "../../../../local/peers/security-key/authenticator-verify.ts";

const ORIGIN = "https://login.example";
const RP_ID = "login.example";

let keys: AuthenticatorKeys;
let authenticator: Authenticator;

beforeAll(async () => {
  keys = await createAuthenticatorKeys();
  authenticator = createAuthenticator(keys);
});

const newChallenge = (bytes = 32) => randomBytes(bytes).toString("base64url");
const optionsWith = (challenge: string) => ({
  rp: { id: RP_ID },
  challenge,
  pubKeyCredParams: [
    { type: "public-key", alg: -257 },
    { type: "public-key", alg: -7 },
  ],
});

function made(maker = authenticator): AttestationCheck {
  const challenge = newChallenge();
  const credential = maker.create(optionsWith(challenge), ORIGIN);
  return { ...credential, challenge, origin: ORIGIN, rpId: RP_ID, root: authenticator.rootCertificate };
}

/** The same credential with its attestation object changed. */
function withAttestation(check: AttestationCheck, change: (object: Map<string, unknown>) => object): AttestationCheck {
  const object = decode(Buffer.from(check.attestationObject, "base64url"), { useMaps: true }) as Map<string, unknown>;
  return { ...check, attestationObject: Buffer.from(encode(change(object))).toString("base64url") };
}

describe("the software authenticator", () => {
  test("makes packed attestations that a verifier chains to its root", async () => {
    const check = made();
    const credential = await verifyAttestation(check);
    expect(credential).toMatchObject({
      fmt: "packed",
      aaguid: AAGUIDS.hardware,
      userVerified: true,
      credential: { id: check.id, counter: 0 },
      credentialBackedUp: false,
    });
  });

  test("signs challenges of 5 KB unharmed, and drops the padding of base64url", async () => {
    const challenge = newChallenge(5177);
    const { clientDataJSON } = authenticator.create(optionsWith(`${challenge}=`), ORIGIN);
    expect(JSON.parse(Buffer.from(clientDataJSON, "base64url").toString())).toEqual({
      type: "webauthn.create",
      challenge,
      origin: ORIGIN,
      crossOrigin: false,
    });
  });

  test("makes no credential where ES256 is not offered", () => {
    const options = { ...optionsWith(newChallenge()), pubKeyCredParams: [{ type: "public-key", alg: -257 }] };
    expect(() => authenticator.create(options, ORIGIN)).toThrow("ES256");
  });
});

describe("the attestation check refuses", () => {
  test("keys of another maker, also while keys of several makers are checked at once, and after another root accepted them", async () => {
    const other = createAuthenticator(await createAuthenticatorKeys());
    const results = await Promise.allSettled([
      verifyAttestation(made()),
      verifyAttestation(made(other)),
      verifyAttestation({ ...made(other), root: other.rootCertificate }),
      verifyAttestation(made()),
      verifyAttestation(made(other)),
    ]);
    expect(results.map(({ status }) => status)).toEqual([
      "fulfilled",
      "rejected",
      "fulfilled",
      "fulfilled",
      "rejected",
    ]);
  });

  test("self attestation, which has no certificate to chain", async () => {
    const selfSigned = withAttestation(made(), object => {
      (object.get("attStmt") as Map<string, unknown>).delete("x5c");
      return object;
    });
    await expect(verifyAttestation(selfSigned)).rejects.toThrow("only packed attestation with a certificate");
  });

  test("no attestation at all", async () => {
    const none = withAttestation(made(), object => object.set("fmt", "none").set("attStmt", new Map()));
    await expect(verifyAttestation(none)).rejects.toThrow("only packed attestation with a certificate");
  });

  test("another challenge, origin, relying party or credential id", async () => {
    const wrong = { challenge: newChallenge(), origin: "https://evil.example", rpId: "evil.example", id: "AAAA" };
    for (const [field, value] of Object.entries(wrong))
      await expect(verifyAttestation({ ...made(), [field]: value }), field).rejects.toThrow();
  });
});
