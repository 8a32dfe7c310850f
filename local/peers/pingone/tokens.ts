import { randomBytes } from "node:crypto";
import { importJWK, type JWK, jwtVerify } from "jose";
import type { PeerAnswer, PeerCall } from "../peer.ts";
import type { State } from "../state-file.ts";

/** An application of Ping's token endpoints. */
export interface PingClient {
  readonly clientId: string;
  readonly clientSecret: string;
  /** Public key of the client's assertions; without one every assertion is refused. */
  readonly clientKey?: JWK | undefined;
}

export interface PingTokensState {
  /** End of each token in ms since 1970. */
  readonly tokens: Record<string, number>;
}

export interface PingTokens {
  /** Handles client credentials (RFC 6749 section 4.4), with secret or assertion in the form. */
  grant(call: PeerCall): Promise<PeerAnswer>;
  isValid(token: string): boolean;
  revokeAll(): void;
}

const ASSERTION_TYPE = "urn:ietf:params:oauth:client-assertion-type:jwt-bearer";

export function createPingTokens(
  client: PingClient,
  file: State<PingTokensState>,
  expiresIn: () => number,
): PingTokens {
  const { tokens } = file.value;
  return {
    grant: async ({ body, url }) => {
      const form = new URLSearchParams(body.toString("utf8"));
      if (form.get("grant_type") !== "client_credentials") return refused(400, "unsupported_grant_type");
      if (!(await isClient(client, form, url.href))) return refused(401, "invalid_client");
      for (const [token, end] of Object.entries(tokens)) if (end <= Date.now()) delete tokens[token];
      const token = randomBytes(32).toString("base64url");
      tokens[token] = Date.now() + expiresIn() * 1000;
      file.save();
      const scope = form.get("scope");
      const granted = { access_token: token, token_type: "Bearer", expires_in: expiresIn(), ...(scope && { scope }) };
      return { status: 200, headers: { "cache-control": "no-store" }, body: granted };
    },
    isValid: token => (tokens[token] ?? 0) > Date.now(),
    revokeAll: () => {
      for (const token of Object.keys(tokens)) delete tokens[token];
      file.save();
    },
  };
}

async function isClient(client: PingClient, form: URLSearchParams, tokenUrl: string): Promise<boolean> {
  if (form.get("client_id") !== client.clientId) return false;
  const assertion = form.get("client_assertion");
  if (assertion === null) return form.get("client_secret") === client.clientSecret;
  const { clientKey } = client;
  if (form.get("client_assertion_type") !== ASSERTION_TYPE || clientKey === undefined) return false;
  try {
    await jwtVerify(assertion, ({ alg }) => importJWK(clientKey, alg), {
      // PingOne does not support PSS.
      algorithms: ["RS256", "RS384", "RS512", "ES256", "ES384", "ES512"],
      issuer: client.clientId,
      subject: client.clientId,
      audience: tokenUrl,
      // PingOne refuses an `nbf` in the future, and its documentation names no tolerance.
      clockTolerance: 0,
      requiredClaims: ["exp"],
    });
    return true;
  } catch {
    return false;
  }
}

const refused = (status: number, error: string): PeerAnswer => ({
  status,
  body: { error, error_description: `Request denied: ${error.replaceAll("_", " ")}` },
});
