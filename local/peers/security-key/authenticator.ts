import { Buffer } from "node:buffer";
import { createHash, createPrivateKey, generateKeyPairSync, randomBytes, sign } from "node:crypto";
import { encode } from "cborg";
import { AAGUIDS, type AuthenticatorKeys, type AuthenticatorKind, aaguidBytes } from "./authenticator-keys.ts";

/** The members of PublicKeyCredentialCreationOptionsJSON that an authenticator and its client read. */
interface AuthenticatorOptions {
  readonly rp: { readonly id: string };
  readonly challenge: string;
  readonly pubKeyCredParams: readonly { readonly type: string; readonly alg: number }[];
}

export type Authenticator = ReturnType<typeof createAuthenticator>;

const ES256 = -7;
/** User present, user verified, attested credential data included (WebAuthn Level 3, section 6.1). */
const FLAGS = 0x01 | 0x04 | 0x40;
/** Passkeys of an app are eligible for backup, and backed up (WebAuthn Level 3, section 6.1.3). */
const BACKED_UP = 0x08 | 0x10;

/** A simulated authenticator with `packed` attestation (WebAuthn Level 3, section 8.2), signed by the batch of its kind. */
export function createAuthenticator(
  { rootCertificate, batches }: AuthenticatorKeys,
  kind: AuthenticatorKind = "hardware",
) {
  const batchKey = createPrivateKey({
    key: Buffer.from(batches[kind].key, "base64"),
    format: "der",
    type: "pkcs8",
  });
  const x5c = [Buffer.from(batches[kind].certificate, "base64")];
  return {
    aaguid: AAGUIDS[kind],
    /** PEM of the root that verifiers trust. */
    rootCertificate,
    /**
     * Creates a credential on a new key, with user presence and user verification. Returns base64url without padding.
     * Ignores `excludeCredentials`, because a new key has none of them. Throws if ES256 is not offered.
     */
    create: ({ rp, challenge, pubKeyCredParams }: AuthenticatorOptions, origin: string) => {
      if (!pubKeyCredParams.some(({ type, alg }) => type === "public-key" && alg === ES256))
        throw new Error("the authenticator makes ES256 credentials only, and that is not offered");
      const id = randomBytes(32);
      const clientData = Buffer.from(
        JSON.stringify({
          type: "webauthn.create",
          challenge: Buffer.from(challenge, "base64url").toString("base64url"),
          origin,
          crossOrigin: false,
        }),
      );
      const authData = authenticatorData(kind, rp.id, id);
      const signature = sign("sha256", Buffer.concat([authData, sha256(clientData)]), batchKey);
      const attestation = { fmt: "packed", attStmt: { alg: ES256, sig: signature, x5c }, authData };
      return {
        id: id.toString("base64url"),
        clientDataJSON: clientData.toString("base64url"),
        attestationObject: Buffer.from(encode(attestation)).toString("base64url"),
      };
    },
  };
}

function authenticatorData(kind: AuthenticatorKind, rpId: string, id: Buffer): Buffer {
  const head = Buffer.alloc(5);
  head.writeUInt8(kind === "software" ? FLAGS | BACKED_UP : FLAGS);
  const idLength = Buffer.alloc(2);
  idLength.writeUInt16BE(id.length);
  return Buffer.concat([sha256(Buffer.from(rpId)), head, aaguidBytes(kind), idLength, id, newPublicKey()]);
}

/** Returns a COSE key (RFC 9053 section 7.1.1). Its private key is not kept, because no simulation signs in with it. */
function newPublicKey(): Uint8Array {
  const { publicKey } = generateKeyPairSync("ec", { namedCurve: "P-256" });
  const { x = "", y = "" } = publicKey.export({ format: "jwk" });
  const coordinates: [number, Buffer][] = [
    [-2, Buffer.from(x, "base64url")],
    [-3, Buffer.from(y, "base64url")],
  ];
  return encode(new Map<number, number | Buffer>([[1, 2], [3, ES256], [-1, 1], ...coordinates]));
}

const sha256 = (bytes: Buffer) => createHash("sha256").update(bytes).digest();
