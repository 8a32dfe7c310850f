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

/** Issued access tokens with their ends in ms since 1970. */
export interface TokensState {
  readonly tokens: Record<string, number>;
}

/** What the token endpoints of the vendors differ in. */
export interface TokenRules {
  /** Signature algorithms of assertions. */
  readonly algorithms: readonly string[];
  readonly requiredClaims: readonly string[];
  /** Returns the error code of a scope that is refused. */
  readonly refuseScope?: (scope: string | null) => string | undefined;
  readonly errorBody: (error: string) => object;
}

/** The access tokens of one peer. */
export function createTokens(file: State<TokensState>) {
  const { tokens } = file.value;
  return {
    /** Returns the response that grants a new token. @param more further members */
    grant: (expiresInSeconds: number, more: object = {}): HttpAnswer => {
      for (const [token, end] of Object.entries(tokens)) if (end <= Date.now()) delete tokens[token];
      const token = randomBytes(32).toString("base64url");
      tokens[token] = Date.now() + expiresInSeconds * 1000;
      file.save();
      const body = { access_token: token, token_type: "Bearer", expires_in: expiresInSeconds, ...more };
      return { status: 200, headers: { "cache-control": "no-store" }, body };
    },
    isValid: (token: string): boolean => Object.hasOwn(tokens, token) && (tokens[token] ?? 0) > Date.now(),
    revokeAll: () => {
      for (const token of Object.keys(tokens)) delete tokens[token];
      file.save();
    },
  };
}

export type IdpTokens = ReturnType<typeof createIdpTokens>;

/** The token endpoint of a simulated IdP, and its tokens. */
export function createIdpTokens(
  client: IdpClient,
  file: State<TokensState>,
  rules: TokenRules,
  expiresInSeconds: () => number,
) {
  const { grant, isValid, revokeAll } = createTokens(file);
  const refused = (status: number, error: string): HttpAnswer => ({ status, body: rules.errorBody(error) });
  return {
    /** Handles client credentials (RFC 6749 section 4.4), with secret or assertion in the form. */
    grant: async ({ body, url }: Pick<HttpCall, "body" | "url">): Promise<HttpAnswer> => {
      const form = new URLSearchParams(body.toString("utf8"));
      const scope = form.get("scope");
      if (form.get("grant_type") !== "client_credentials") return refused(400, "unsupported_grant_type");
      if (!(await isClient(client, form, url.href, rules))) return refused(401, "invalid_client");
      const error = rules.refuseScope?.(scope);
      if (error !== undefined) return refused(400, error);
      return grant(expiresInSeconds(), scope ? { scope } : {});
    },
    /** Whether a call has a valid token in a header. */
    accepts: ({ headers }: HttpCall, header = "authorization"): boolean =>
      isValid(String(headers[header]).replace(/^Bearer /, "")),
    revokeAll,
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

const assertionType = "urn:ietf:params:oauth:client-assertion-type:jwt-bearer";
