// The certificate library requires this polyfill when it loads.
import "reflect-metadata";
import { Buffer } from "node:buffer";
import {
  BasicConstraintsExtension,
  Extension,
  KeyUsageFlags,
  KeyUsagesExtension,
  X509CertificateGenerator,
} from "@peculiar/x509";

/** The models of simulated authenticators, as UUIDs: physical keys, and passkeys of an app. */
export const AAGUIDS = {
  hardware: "5a1e7c3d-0b6f-4d92-9c48-e3f1a27b6d05",
  software: "8c0d2f46-71b9-4a3e-b5d8-2e9647f1ac13",
} as const;
export type AuthenticatorKind = keyof typeof AAGUIDS;

/** The state of one maker of authenticators: JSON, so that its attestations stay trusted after a restart. */
export type AuthenticatorKeys = Awaited<ReturnType<typeof createAuthenticatorKeys>>;

const ALGORITHM = { name: "ECDSA", namedCurve: "P-256", hash: "SHA-256" };
/** id-fido-gen-ce-aaguid (WebAuthn Level 3, section 8.2.1). */
const AAGUID_EXTENSION = "1.3.6.1.4.1.45724.1.1.4";
// ISO 3166-1 reserves ZZ for private use.
const MAKER = "C=ZZ, O=Simulated Keys";
const LIFETIME = { notBefore: new Date("2020-01-01T00:00:00Z"), notAfter: new Date("2049-12-31T23:59:59Z") };

/**
 * Creates a root and, signed by it, the batch certificates that attest new credentials (WebAuthn Level 3, section 8.2.1). Does
 * not keep the root's private key, because there is one batch of each kind.
 */
export async function createAuthenticatorKeys() {
  const root = await newPair();
  const rootCertificate = await X509CertificateGenerator.createSelfSigned({
    ...LIFETIME,
    serialNumber: "01",
    name: `${MAKER}, CN=Simulated Keys Root`,
    keys: root,
    signingAlgorithm: ALGORITHM,
    extensions: [
      new BasicConstraintsExtension(true, undefined, true),
      new KeyUsagesExtension(KeyUsageFlags.keyCertSign | KeyUsageFlags.cRLSign, true),
    ],
  });
  const newBatch = async (kind: AuthenticatorKind, serialNumber: string) => {
    const batch = await newPair();
    const certificate = await X509CertificateGenerator.create({
      ...LIFETIME,
      serialNumber,
      issuer: rootCertificate.subject,
      subject: `${MAKER}, OU=Authenticator Attestation, CN=Simulated ${kind} batch`,
      publicKey: batch.publicKey,
      signingKey: root.privateKey,
      signingAlgorithm: ALGORITHM,
      extensions: [
        new BasicConstraintsExtension(false, undefined, true),
        // The value is itself an OCTET STRING of 16 bytes.
        new Extension(AAGUID_EXTENSION, false, Buffer.concat([Buffer.from([0x04, 0x10]), aaguidBytes(kind)])),
      ],
    });
    return {
      /** DER in base64. */
      certificate: base64(certificate.rawData),
      /** PKCS #8 in base64. */
      key: base64(await crypto.subtle.exportKey("pkcs8", batch.privateKey)),
    };
  };
  const [hardware, software] = await Promise.all([newBatch("hardware", "02"), newBatch("software", "03")]);
  return { rootCertificate: rootCertificate.toString("pem"), batches: { hardware, software } };
}

export const aaguidBytes = (kind: AuthenticatorKind): Buffer => Buffer.from(AAGUIDS[kind].replaceAll("-", ""), "hex");

const base64 = (bytes: ArrayBuffer) => Buffer.from(bytes).toString("base64");

const newPair = () => crypto.subtle.generateKey(ALGORITHM, true, ["sign", "verify"]);
