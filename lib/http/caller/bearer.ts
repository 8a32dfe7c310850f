import { createHash, timingSafeEqual } from "node:crypto";
import * as z from "zod";
import type { Caller } from "../../caller.ts";
import { Fault } from "../../fault.ts";
import type { Now } from "../../time.ts";
import { badToken } from "./bad-token.ts";
import { type TenantTokens, tenantTokenCheck } from "./tenant-token.ts";

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

const staticToken = /^(core|connector)_([a-z0-9]{8})_[A-Za-z0-9_-]{43}$/;

/** The longest header that is parsed. Entra's tokens stay below: it leaves groups out of a token that would grow too large. */
const maxHeaderLength = 16_384;

/** SHA-256 of a static token as it is kept in the vault. */
export const hashOfToken = (token: string): string => createHash("sha256").update(token).digest("base64url");

/**
 * The check of `Authorization: Bearer` (decision G3): 401 without a valid token, 403 for a valid one without the role and for a
 * static token of the other wing, 503 when the issuer's keys can not be read. With no kind configured every call is refused.
 */
export function bearerCheck(options: BearerOptions): (headers: Headers) => Promise<Caller> {
  const checkTenantToken = options.tenant === undefined ? undefined : tenantTokenCheck(options.tenant, options);
  return async headers => {
    const header = headers.get("authorization") ?? "";
    if (header.length > maxHeaderLength) throw badToken("too_long");
    const token = /^Bearer +([^\s]+)$/i.exec(header)?.[1];
    if (token === undefined) {
      throw new Fault("unauthenticated", "A bearer token is required.", { reason: "no_token" });
    }
    const known = staticToken.exec(token);
    if (known !== null) return staticCaller(token, known[1] ?? "", known[2] ?? "", options);
    if (checkTenantToken === undefined) throw badToken("not_accepted");
    return checkTenantToken(token);
  };
}

async function staticCaller(token: string, surface: string, id: string, options: BearerOptions): Promise<Caller> {
  if (options.tokenHashes === undefined) throw badToken("not_accepted");
  if (surface !== options.surface) {
    throw new Fault("forbidden", "The token belongs to another surface.", { reason: "other_surface" });
  }
  const presented = Buffer.from(hashOfToken(token));
  const matches = (hash: TokenHash): boolean => {
    const expected = Buffer.from(hash.sha256);
    return hash.id === id && expected.length === presented.length && timingSafeEqual(expected, presented);
  };
  for (const refresh of [false, true]) {
    if ((await options.tokenHashes(refresh)).some(matches)) return { kind: "api_token", application: id };
  }
  throw badToken("unknown_api_token");
}
