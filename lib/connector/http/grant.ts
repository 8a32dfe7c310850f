import { createHash, createPrivateKey, type KeyObject, X509Certificate } from "node:crypto";
import { SignJWT } from "jose";
import * as z from "zod";
import type { Grant } from "./access-token.ts";
import type { PeerAccess } from "./call.ts";
import { PeerFailure } from "./failure.ts";
import { retryPeer } from "./retry.ts";

export interface ClientCredentials {
  readonly tokenUrl: string;
  readonly clientId: string;
  readonly scope?: string | undefined;
  /**
   * Read at every grant, so that a changed one counts. A client secret, or PEM text with private key and certificate for
   * `private_key_jwt` (RFC 7523).
   */
  readonly secret: () => Promise<string>;
  /** For `private_key_jwt`; PS256 by default. */
  readonly algorithm?: "PS256" | "RS256" | "ES256" | "ES384" | undefined;
}

/** Asks for an access token by the client credentials grant (RFC 6749 section 4.4). Throws PeerFailure or what `secret` throws. */
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

/** Sends a token request, which may be repeated, and reads the answer (RFC 6749 section 5). Throws PeerFailure. */
export async function requestToken(access: PeerAccess, url: string, body: URLSearchParams): Promise<Grant> {
  const call = { operation: "access token", method: "POST", url, body, answer: granted } as const;
  const { access_token, expires_in } = await retryPeer({ ...access, refusalOf }, call);
  return { token: access_token, expiresInSeconds: expires_in };
}

const assertionType = "urn:ietf:params:oauth:client-assertion-type:jwt-bearer";

const granted = z.object({
  access_token: z.string().min(1),
  /** Some send it as text; where it is missing a short life is the safe guess. */
  expires_in: z.coerce.number().int().nonnegative().catch(300),
});

const refusal = z.object({ error: z.string(), error_description: z.string().optional() });

function refusalOf(body: unknown) {
  const { error, error_description } = refusal.safeParse(body).data ?? {};
  return { code: error, detail: error_description };
}

/** RFC 7523 section 3, with the certificate's thumbprint where the PEM has one (Entra names the key by it). */
async function assertion(access: PeerAccess, client: ClientCredentials, pem: string): Promise<string> {
  const { key, thumbprint } = signer(pem) ?? unusable(access);
  const now = Math.floor(Date.parse(access.now()) / 1000);
  return new SignJWT({ jti: Buffer.from(access.random(16)).toString("base64url") })
    .setProtectedHeader({
      alg: client.algorithm ?? "PS256",
      typ: "JWT",
      ...(thumbprint === undefined ? {} : { "x5t#S256": thumbprint }),
    })
    .setIssuer(client.clientId)
    .setSubject(client.clientId)
    .setAudience(client.tokenUrl)
    .setNotBefore(now)
    .setIssuedAt(now)
    .setExpirationTime(now + 300)
    .sign(key)
    .catch(() => unusable(access));
}

const certificateBegin = "-----BEGIN CERTIFICATE-----";

/** The private key with its own certificate's thumbprint: a vault gives the issuers' certificates along with it. */
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

/** Without the cause: it may quote the key. */
function unusable({ peer }: PeerAccess): never {
  const detail = "The client's private key cannot be used.";
  throw new PeerFailure(peer, "access token", "unauthorized", { detail });
}
