import { randomBytes, randomUUID } from "node:crypto";
import { importJWK, type JWK, jwtVerify } from "jose";
import type { PeerAnswer } from "../peer.ts";
import type { State } from "../state-file.ts";

export interface EntraClient {
  readonly tenantId: string;
  readonly clientId: string;
  readonly clientSecret: string;
  /** Public key of the client's assertions; without one every assertion is refused. */
  readonly clientKey?: JWK | undefined;
}

export interface EntraTokens {
  /** Handles `POST /{tenant}/oauth2/v2.0/token`; returns undefined for another tenant. */
  grant(tenantId: string, form: URLSearchParams, tokenUrl: string): Promise<PeerAnswer | undefined>;
  isValid(token: string): boolean;
  revokeAll(): void;
}

const ASSERTION_TYPE = "urn:ietf:params:oauth:client-assertion-type:jwt-bearer";

/** Client credentials of one application (OAuth 2.0, RFC 6749 section 4.4). `file` maps tokens to their end in ms since 1970. */
export function createEntraTokens(
  client: EntraClient,
  file: State<{ readonly tokens: Record<string, number> }>,
  expiresIn: () => number,
): EntraTokens {
  const { tokens } = file.value;
  return {
    grant: async (tenantId, form, tokenUrl) => {
      if (tenantId !== client.tenantId) return undefined;
      if (form.get("grant_type") !== "client_credentials")
        return refused(400, "unsupported_grant_type", 70003, "The app requested an unsupported grant type.");
      if (!(await isClient(client, form, tokenUrl)))
        return refused(401, "invalid_client", 7000215, "Invalid client credentials provided.");
      if (!form.get("scope")?.endsWith("/.default"))
        return refused(400, "invalid_scope", 1002012, "The provided value for scope is not valid.");
      for (const [token, end] of Object.entries(tokens)) if (end <= Date.now()) delete tokens[token];
      const token = randomBytes(32).toString("base64url");
      tokens[token] = Date.now() + expiresIn() * 1000;
      file.save();
      const body = { token_type: "Bearer", expires_in: expiresIn(), ext_expires_in: expiresIn(), access_token: token };
      return { status: 200, headers: { "cache-control": "no-store" }, body };
    },
    isValid: token => (tokens[token] ?? 0) > Date.now(),
    revokeAll: () => {
      for (const token of Object.keys(tokens)) delete tokens[token];
      file.save();
    },
  };
}

async function isClient(client: EntraClient, form: URLSearchParams, tokenUrl: string): Promise<boolean> {
  if (form.get("client_id") !== client.clientId) return false;
  const assertion = form.get("client_assertion");
  if (assertion === null) return form.get("client_secret") === client.clientSecret;
  if (form.get("client_assertion_type") !== ASSERTION_TYPE || client.clientKey === undefined) return false;
  try {
    const { clientKey } = client;
    await jwtVerify(assertion, ({ alg }) => importJWK(clientKey, alg), {
      algorithms: ["PS256", "RS256"],
      issuer: client.clientId,
      subject: client.clientId,
      audience: tokenUrl,
      requiredClaims: ["exp", "jti"],
    });
    return true;
  } catch {
    return false;
  }
}

const refused = (status: number, error: string, code: number, text: string): PeerAnswer => ({
  status,
  body: {
    error,
    error_description: `AADSTS${code}: ${text}`,
    error_codes: [code],
    timestamp: new Date().toISOString(),
    trace_id: randomUUID(),
    correlation_id: randomUUID(),
  },
});
