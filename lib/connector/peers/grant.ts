import { createHash, createPrivateKey, type KeyObject, X509Certificate } from "node:crypto";
import { SignJWT } from "jose";
import * as z from "zod";
import { callPeer, type PeerAccess } from "../../platform/call-peer.ts";
import { PeerFailure, traceCall } from "../../platform/peer-failure.ts";
import type { Grant } from "./access-token.ts";

export interface ClientCredentials {
  readonly tokenUrl: string;
  readonly clientId: string;
  readonly scope?: string | undefined;
  /**
   * Read at each grant, so that a rotated secret is used. A client secret, or PEM text with private key and certificate
   * for `private_key_jwt` (RFC 7523).
   */
  readonly secret: () => Promise<string>;
  /** The audience of `private_key_jwt`; `tokenUrl` by default. */
  readonly audience?: string | undefined;
  /** Returns the algorithm of `private_key_jwt` for a private key; PS256 by default. */
  readonly algorithmFor?: (key: KeyObject) => "RS256" | "ES256" | "ES384";
}

/** Gets a token by the client credentials grant (RFC 6749 section 4.4). Throws PeerFailure, or as `secret` does. */
export async function grantByClientCredentials(access: PeerAccess, client: ClientCredentials): Promise<Grant> {
  const secret = await client.secret();
  const body = new URLSearchParams({
    grant_type: "client_credentials",
    client_id: client.clientId,
    ...(client.scope === undefined ? {} : { scope: client.scope }),
    ...(secret.includes("-----BEGIN ")
      ? { client_assertion_type: assertionType, client_assertion: await assertion(access, client, secret) }
      : { client_secret: secret }),
  });
  return requestToken(access, client.tokenUrl, body);
}

/** Sends a token request, with retries, and returns the granted token (RFC 6749 section 5). Throws PeerFailure. */
export async function requestToken(access: PeerAccess, url: string, body: URLSearchParams): Promise<Grant> {
  const call = { operation, method: "POST", url, body, response: granted, mayRepeat: true } as const;
  // An unknown tenant or realm is reported in the form of the peer's own API.
  const errorOf = (body: unknown) => tokenErrorOf(body) ?? access.errorOf?.(body) ?? {};
  const { access_token, expires_in } = await callPeer({ ...access, errorOf }, call);
  return { token: access_token, expiresInSeconds: expires_in };
}

const operation = "access token";
const assertionType = "urn:ietf:params:oauth:client-assertion-type:jwt-bearer";

const granted = z.lazy(() =>
  z.object({
    access_token: z.string().min(1),
    /** Some issuers send it as text. If it is missing or no number of seconds, a short lifetime is assumed. */
    expires_in: z
      .union([
        z.int().min(0).max(999_999_999),
        z
          .string()
          .regex(/^\d{1,9}$/)
          .transform(Number),
      ])
      .catch(300),
  }),
);

const refusal = z.lazy(() => z.object({ error: z.string(), error_description: z.string().nullish() }));

function tokenErrorOf(body: unknown) {
  const { data } = refusal.safeParse(body);
  return data && { code: data.error, detail: data.error_description };
}

/** How far the clock may be ahead of the issuer's: PingOne refuses assertions from the future. */
const clockToleranceSeconds = 120;

/**
 * Returns a client assertion (RFC 7523 section 3), with the thumbprint of the certificate if the PEM has one: Entra
 * requires it.
 */
async function assertion(access: PeerAccess, client: ClientCredentials, pem: string): Promise<string> {
  const { key, thumbprint } = signer(pem) ?? (await unusable(access));
  const now = Math.floor(Date.parse(access.now()) / 1000);
  return new SignJWT({ jti: Buffer.from(access.random(16)).toString("base64url") })
    .setProtectedHeader({
      alg: client.algorithmFor?.(key) ?? "PS256",
      typ: "JWT",
      ...(thumbprint === undefined ? {} : { "x5t#S256": thumbprint }),
    })
    .setIssuer(client.clientId)
    .setSubject(client.clientId)
    .setAudience(client.audience ?? client.tokenUrl)
    .setNotBefore(now - clockToleranceSeconds)
    .setIssuedAt(now - clockToleranceSeconds)
    .setExpirationTime(now + 300)
    .sign(key)
    .catch(() => unusable(access));
}

const certificateBegin = "-----BEGIN CERTIFICATE-----";

/** Returns the private key and the thumbprint of its certificate. Key Vault also returns those of the issuers. */
function signer(pem: string): { key: KeyObject; thumbprint: string | undefined } | undefined {
  try {
    const key = createPrivateKey(pem);
    const [, ...certificates] = pem.split(certificateBegin);
    if (certificates.length === 0) return { key, thumbprint: undefined };
    const own = certificates
      .map(text => new X509Certificate(`${certificateBegin}${text}`))
      .find(found => found.checkPrivateKey(key));
    return own && { key, thumbprint: createHash("sha256").update(own.raw).digest("base64url") };
  } catch {
    return undefined;
  }
}

/**
 * Rejects with the failure without its cause, which may quote the private key. It is recorded as a token request that
 * was refused, so that the same alert reports it.
 */
function unusable({ peer }: PeerAccess): Promise<never> {
  const detail = "The client's private key cannot be used.";
  return traceCall(peer, operation, () => Promise.reject(new PeerFailure(peer, operation, "unauthorized", { detail })));
}
