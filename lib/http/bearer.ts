import { createHash, timingSafeEqual } from "node:crypto";
import { createRemoteJWKSet, customFetch, errors, type JWTPayload, jwtVerify } from "jose";
import * as z from "zod";
import { Fault } from "../fault.ts";
import { type Now, seconds } from "../time.ts";
import type { Caller } from "./endpoint.ts";

/** Tokens of the customer's tenant (decision G3). */
export interface TenantTokens {
  readonly issuers: readonly string[];
  readonly audiences: readonly string[];
  readonly jwksUrl: string;
}

/** A static API token as the service knows it: never the token, only its hash (decision G3). */
export const tokenHash = z.object({
  id: z.string(),
  name: z.string(),
  /** base64url SHA-256 of the whole token. */
  sha256: z.string(),
  createdAt: z.string(),
});
export type TokenHash = z.output<typeof tokenHash>;

export interface BearerOptions {
  readonly surface: "core" | "connector";
  /** App role or scope that a tenant token must carry. */
  readonly role: string;
  /** Absent: no tenant token is accepted. */
  readonly tenant?: TenantTokens;
  /** The known static tokens; `refresh` asks for a new read, which the source may limit. Absent: none is accepted. */
  readonly tokenHashes?: (refresh: boolean) => Promise<readonly TokenHash[]>;
  readonly fetch: typeof fetch;
  readonly now: Now;
}

const algorithms = ["RS256", "PS256", "ES256"];
const staticToken = /^(core|connector)_([a-z0-9]{8})_[A-Za-z0-9_-]{43}$/;

/** SHA-256 of a static token as it is kept in the vault. */
export const hashOfToken = (token: string): string => createHash("sha256").update(token).digest("base64url");

/**
 * The check of `Authorization: Bearer` (decision G3): 401 without a valid token, 403 for a valid one without the role and for a
 * static token of the other wing, 503 when the issuer's keys can not be read. With no kind configured every call is refused.
 */
export function bearerCheck(options: BearerOptions): (headers: Headers) => Promise<Caller> {
  const verify = options.tenant === undefined ? undefined : tenantVerifier(options.tenant, options);
  return async headers => {
    const token = /^Bearer +([^\s]+)$/i.exec(headers.get("authorization") ?? "")?.[1];
    if (token === undefined) throw new Fault("unauthenticated", "A bearer token is required.");
    const known = staticToken.exec(token);
    if (known !== null) return staticCaller(token, known[1] ?? "", known[2] ?? "", options);
    if (verify === undefined) throw badToken();
    const claims = await verify(token);
    if (!rolesOf(claims).includes(options.role)) {
      throw new Fault("forbidden", `The token does not carry ${options.role}.`);
    }
    return { id: `tenant:${callerOf(claims)}` };
  };
}

const badToken = (cause?: unknown): Fault =>
  new Fault("unauthenticated", "The bearer token is not valid.", cause === undefined ? {} : { cause });

function tenantVerifier(tenant: TenantTokens, { fetch, now }: BearerOptions): (token: string) => Promise<JWTPayload> {
  const keys = createRemoteJWKSet(new URL(tenant.jwksUrl), { [customFetch]: fetch, timeoutDuration: seconds(5) });
  return async token => {
    try {
      const { payload } = await jwtVerify(token, keys, {
        algorithms,
        issuer: [...tenant.issuers],
        audience: [...tenant.audiences],
        requiredClaims: ["exp"],
        currentDate: new Date(now()),
      });
      return payload;
    } catch (error) {
      if (aboutToken(error)) throw badToken(error);
      throw new Fault("unavailable", "The token can not be checked now.", { retryAfter: 5, cause: error });
    }
  };
}

/** Whether the token is at fault, not the issuer's keys or the way to them. */
const aboutToken = (error: unknown): boolean =>
  error instanceof errors.JOSEError &&
  !["ERR_JWKS_TIMEOUT", "ERR_JWKS_INVALID", "ERR_JOSE_GENERIC"].includes(error.code);

const rolesOf = ({ roles, scp }: JWTPayload): readonly unknown[] => [
  ...(Array.isArray(roles) ? roles : []),
  ...(typeof scp === "string" ? scp.split(" ") : []),
];

/** The calling application, else the user (Entra's `azp`, version 1's `appid`). */
const callerOf = (claims: JWTPayload): string =>
  [claims.azp, claims.appid, claims.oid, claims.sub].find((name): name is string => typeof name === "string") ??
  "unnamed";

async function staticCaller(token: string, surface: string, id: string, options: BearerOptions): Promise<Caller> {
  if (options.tokenHashes === undefined) throw badToken();
  if (surface !== options.surface) throw new Fault("forbidden", "The token belongs to another surface.");
  const presented = Buffer.from(hashOfToken(token));
  const matches = (hash: TokenHash): boolean => {
    const expected = Buffer.from(hash.sha256);
    return hash.id === id && expected.length === presented.length && timingSafeEqual(expected, presented);
  };
  for (const refresh of [false, true]) {
    if ((await options.tokenHashes(refresh)).some(matches)) return { id: `token:${id}` };
  }
  throw badToken();
}
