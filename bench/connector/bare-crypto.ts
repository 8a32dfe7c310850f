import { randomBytes, randomInt } from "node:crypto";
import {
  CompactEncrypt,
  calculateJwkThumbprint,
  compactDecrypt,
  compactVerify,
  decodeProtectedHeader,
  exportJWK,
  generateKeyPair,
} from "jose";
import type { BarePeers, Options } from "./bare-peers.ts";

/** A request that was encrypted, and what opens its response, sealed as it lies in storage. */
interface Sealed {
  readonly request: string;
  readonly privateKey: string;
}

/** A key that was ordered. */
export interface BareKey {
  readonly credentials: readonly (Sealed & { readonly userId: string; readonly idpState: string })[];
  readonly pin: Sealed;
}

export interface BareCrypto {
  credentialOrder(options: Options): Promise<BareKey["credentials"][number]>;
  pinOrder(): Promise<Sealed>;
  /** The payload of a response, its signature checked. */
  open(response: string, by: Sealed): Promise<Readonly<Record<string, unknown>>>;
}

/** The cryptography of decisions C11 and G8 by `jose` alone. */
export async function bareCrypto(peers: Pick<BarePeers, "keys">): Promise<BareCrypto> {
  const [transport, signing] = await Promise.all([peers.keys("transport"), peers.keys("signing")]);
  const dataKey = randomBytes(32);
  const text = (value: unknown) => new TextEncoder().encode(JSON.stringify(value));
  const parsed = (bytes: Uint8Array) => JSON.parse(new TextDecoder().decode(bytes));

  const seal = (value: unknown) =>
    new CompactEncrypt(text(value))
      .setProtectedHeader({ alg: "A256GCMKW", enc: "A256GCM", table: "bare", row: "bare", purpose: "bare" })
      .encrypt(dataKey);

  const ordered = async (payload: object): Promise<Sealed> => {
    const { privateKey } = await generateKeyPair("ECDH-ES+A256KW", { crv: "P-384", extractable: true });
    const { d, ...point } = await exportJWK(privateKey);
    const publicJwk = { ...point, kid: await calculateJwkThumbprint(point) };
    const to = transport[randomInt(transport.length)] ?? {};
    const response_key = { ...publicJwk, use: "enc", alg: "ECDH-ES+A256KW" };
    const request = await new CompactEncrypt(text({ v: 1, response_key, ...payload }))
      .setProtectedHeader({ alg: "ECDH-ES+A256KW", enc: "A256GCM", kid: to.kid ?? "" })
      .encrypt(to);
    return { request, privateKey: await seal({ ...publicJwk, d }) };
  };

  return {
    credentialOrder: async ({ userId, publicKey }) => {
      const origin = `https://${publicKey.rp.id}`;
      const made = await ordered({ type: "credential_request", origin, public_key: publicKey });
      return { ...made, userId, idpState: await seal({ userId }) };
    },
    pinOrder: () => ordered({ type: "pin_request", pin: { type: "generate", length: 6 } }),
    open: async (response, { privateKey }) => {
      const { plaintext: sealed } = await compactDecrypt(privateKey, dataKey);
      const { plaintext } = await compactDecrypt(response, parsed(sealed));
      const jws = new TextDecoder().decode(plaintext);
      const key = signing.find(({ kid }) => kid === decodeProtectedHeader(jws).kid) ?? {};
      return parsed((await compactVerify(jws, key)).payload);
    },
  };
}
