import { randomBytes } from "node:crypto";
import { importJWK, type JWK, jwtVerify } from "jose";
import type { HttpAnswer, HttpCall } from "../peer.ts";
import type { State } from "../state-file.ts";

/** An application of a simulated IdP. */
export interface IdpClient {
  readonly clientId: string;
  readonly clientSecret: string;
  /** Public key of the client's assertions; without one every assertion is refused. */
  readonly clientKey?: JWK | undefined;
}

export interface IdpTokensState {
  /** End of each token in ms since 1970. */
  readonly tokens: Record<string, number>;
}

/** What the token endpoints of the vendors differ in. */
interface TokenRules {
  /** Lifetime of new tokens in seconds. */
  readonly expiresIn: () => number;
  /** Signature algorithms of assertions. */
  readonly algorithms: readonly string[];
  readonly requiredClaims: readonly string[];
  /** Returns the error code of a scope that is refused. */
  readonly refuseScope?: (scope: string | null) => string | undefined;
  readonly errorBody: (error: string) => object;
}

export interface IdpTokens {
  /** Handles client credentials (RFC 6749 section 4.4), with secret or assertion in the form. */
  grant(call: HttpCall): Promise<HttpAnswer>;
  isValid(token: string): boolean;
  revokeAll(): void;
}

const assertionType = "urn:ietf:params:oauth:client-assertion-type:jwt-bearer";

export function createIdpTokens(client: IdpClient, file: State<IdpTokensState>, rules: TokenRules): IdpTokens {
  const { tokens } = file.value;
  const refused = (status: number, error: string): HttpAnswer => ({ status, body: rules.errorBody(error) });
  return {
    grant: async ({ body, url }) => {
      const form = new URLSearchParams(body.toString("utf8"));
      const scope = form.get("scope");
      if (form.get("grant_type") !== "client_credentials") return refused(400, "unsupported_grant_type");
      if (!(await isClient(client, form, url.href, rules))) return refused(401, "invalid_client");
      const error = rules.refuseScope?.(scope);
      if (error !== undefined) return refused(400, error);
      for (const [token, end] of Object.entries(tokens)) if (end <= Date.now()) delete tokens[token];
      const token = randomBytes(32).toString("base64url");
      tokens[token] = Date.now() + rules.expiresIn() * 1000;
      file.save();
      const granted = { access_token: token, token_type: "Bearer", expires_in: rules.expiresIn() };
      const headers = { "cache-control": "no-store" };
      return { status: 200, headers, body: { ...granted, ...(scope && { scope }) } };
    },
    isValid: token => (tokens[token] ?? 0) > Date.now(),
    revokeAll: () => {
      for (const token of Object.keys(tokens)) delete tokens[token];
      file.save();
    },
  };
}

async function isClient(
  { clientId, clientSecret, clientKey }: IdpClient,
  form: URLSearchParams,
  audience: string,
  { algorithms, requiredClaims }: TokenRules,
): Promise<boolean> {
  if (form.get("client_id") !== clientId) return false;
  const assertion = form.get("client_assertion");
  if (assertion === null) return form.get("client_secret") === clientSecret;
  if (form.get("client_assertion_type") !== assertionType || clientKey === undefined) return false;
  try {
    await jwtVerify(assertion, ({ alg }) => importJWK(clientKey, alg), {
      algorithms: [...algorithms],
      issuer: clientId,
      subject: clientId,
      audience,
      // PingOne refuses an `nbf` in the future, and its documentation names no tolerance.
      clockTolerance: 0,
      requiredClaims: [...requiredClaims],
    });
    return true;
  } catch {
    return false;
  }
}
