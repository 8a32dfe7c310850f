// The certificate library's container looks for this polyfill while it loads.
import "reflect-metadata";
import { webcrypto } from "node:crypto";
import { X509CertificateGenerator } from "@peculiar/x509";
import { exportJWK, type JWK } from "jose";

/** An RSA key as an application registers it: PEM of the private half and of a certificate, and the public half. */
export interface CertifiedKey {
  readonly privateKey: string;
  readonly certificate: string;
  readonly publicKey: JWK;
}

const algorithm = {
  name: "RSASSA-PKCS1-v1_5",
  hash: "SHA-256",
  modulusLength: 2048,
  publicExponent: new Uint8Array([1, 0, 1]),
};

export async function certifiedKey(subject: string): Promise<CertifiedKey> {
  const keys = await webcrypto.subtle.generateKey(algorithm, true, ["sign", "verify"]);
  const { privateKey, publicKey } = keys;
  const name = `CN=${subject}`;
  const certificate = await X509CertificateGenerator.createSelfSigned({ name, keys, signingAlgorithm: algorithm });
  const exported = Buffer.from(await webcrypto.subtle.exportKey("pkcs8", privateKey)).toString("base64");
  return {
    privateKey: `-----BEGIN PRIVATE KEY-----\n${exported}\n-----END PRIVATE KEY-----\n`,
    certificate: `${certificate.toString("pem")}\n`,
    publicKey: await exportJWK(publicKey),
  };
}
