import { createHash, timingSafeEqual } from "node:crypto";
import * as z from "zod";
import { type Caller, callerRoles } from "../caller.ts";
import { Fault } from "../fault.ts";
import type { Log } from "../log.ts";
import type { Now } from "../time.ts";
import type { Call } from "./call.ts";
import { badToken, createTenantTokenCheck } from "./tenant-token.ts";

/** The stored form of a static API token. The token itself is not stored (G3). */
export const tokenHash = z.lazy(() =>
  z.object({
    id: z.string(),
    name: z.string(),
    /** SHA-256 of the whole token in base64url. */
    sha256: z.string(),
    createdAt: z.string(),
    /** The token is accepted before this time. Absent: until it is revoked. */
    expiresAt: z.string().exactOptional(),
    /** Absent: the token may do everything. */
    role: z.enum(callerRoles).exactOptional(),
    /** The last day, in UTC, on which the token was accepted: `2026-01-31`. Absent: it was never used. */
    lastUsedOn: z.string().exactOptional(),
  }),
);
export type TokenHash = z.output<typeof tokenHash>;

/**
 * The static tokens of an API. Their hashes are stored separately, so that concurrent writes cannot conflict (G3).
 */
export interface TokenHashes {
  /** Returns the cached hashes of the valid tokens. */
  known(): Promise<readonly TokenHash[]>;
  /**
   * Returns the hashes of the valid tokens by a read that begins after the call, at most once a minute for each id.
   * Rejects if the read fails. Called only for tokens with the right tag.
   */
  lookUp(id: string): Promise<readonly TokenHash[]>;
  /** Returns a keyed hash of a text, equal on every host of the service. */
  tag(text: string): Promise<Uint8Array>;
  /**
   * Records that a token was used today. Returns at once, and writes at most once a day for each token. A failure is
   * logged and affects no call.
   */
  recordUse(hash: TokenHash): void;
  /** Reads the valid hashes from storage. */
  read(): Promise<readonly TokenHash[]>;
  add(hash: TokenHash): Promise<void>;
  /** Revokes a token permanently. Returns false if there is no valid token with this id. */
  revoke(id: string): Promise<boolean>;
}

interface BearerOptions {
  readonly api: "core" | "connector";
  /** If absent, no tenant token is accepted. */
  readonly tenant?: Parameters<typeof createTenantTokenCheck>[0];
  /** If absent, no static token is accepted. */
  readonly tokens?: TokenHashes;
  readonly fetch: typeof fetch;
  readonly now: Now;
  readonly log: Log;
}

const staticToken = /^(core|connector)_([a-z0-9]{8})_[A-Za-z0-9_-]{43}$/;

/**
 * Longer headers are refused. Tokens of Entra are shorter: Entra omits groups from a token that would become too large.
 */
const maxHeaderLength = 16_384;

/** Number of characters of a token's tag: 8 bytes in base64url. */
const tagLength = 11;

/**
 * Returns a token with its tag, by which every host of the service knows that the service created it. So a token that
 * is too new for a host's cache is looked up at once, and a token that this service did not create never is.
 */
export async function withTag(untagged: string, { tag }: Pick<TokenHashes, "tag">): Promise<string> {
  return (
    untagged +
    Buffer.from(await tag(untagged))
      .subarray(0, 8)
      .toString("base64url")
  );
}

/** Returns the hash of a static token as it is stored in Key Vault. */
export const hashToken = (token: string): string => createHash("sha256").update(token).digest("base64url");

/**
 * Returns a function that checks `Authorization: Bearer` and returns the caller. The function throws Fault
 * `unauthenticated` without a valid token, `forbidden` for a token without a role or of another API, and `unavailable`
 * if the issuer's keys cannot be read. If neither kind of token is configured, it refuses every call.
 */
export function createBearerCheck(options: BearerOptions): (headers: Call["headers"]) => Promise<Caller> {
  const checkTenantToken = options.tenant === undefined ? undefined : createTenantTokenCheck(options.tenant, options);
  return async headers => {
    const header = headers.get("authorization") ?? "";
    if (header.length > maxHeaderLength) throw badToken("too_long");
    const token = /^Bearer +([^\s]+)$/i.exec(header)?.[1];
    if (token === undefined) {
      throw new Fault("unauthenticated", "A bearer token is required.", { reason: "no_token" });
    }
    const match = staticToken.exec(token);
    if (match !== null) return checkStaticToken(token, match[1] ?? "", match[2] ?? "", options);
    if (checkTenantToken === undefined) throw badToken("not_accepted");
    return checkTenantToken(token);
  };
}

async function checkStaticToken(token: string, api: string, id: string, options: BearerOptions): Promise<Caller> {
  const { tokens } = options;
  if (tokens === undefined) throw badToken("not_accepted");
  if (api !== options.api) {
    throw new Fault("forbidden", "The token belongs to another API.", { reason: "other_api" });
  }
  const presented = Buffer.from(hashToken(token));
  const matches = (hash: TokenHash): boolean => {
    const expected = Buffer.from(hash.sha256);
    return hash.id === id && expected.length === presented.length && timingSafeEqual(expected, presented);
  };
  const known = (await tokens.known()).find(matches);
  const found = known ?? ((await hasTag(token, tokens)) ? (await tokens.lookUp(id)).find(matches) : undefined);
  if (found === undefined) throw badToken("unknown_api_token");
  const caller: Caller = { kind: "api_token", application: id, ...(found.role && { roles: [found.role] }) };
  if (found.expiresAt !== undefined && options.now() >= found.expiresAt) throw badToken("expired", { caller });
  tokens.recordUse(found);
  return caller;
}

async function hasTag(token: string, tokens: TokenHashes): Promise<boolean> {
  const expected = Buffer.from(await withTag(token.slice(0, -tagLength), tokens));
  return timingSafeEqual(expected, Buffer.from(token));
}

/** Maximum number of valid tokens for one API. */
const maxTokens = 100;

/**
 * Creates a static token. Only its hash is stored, so the token cannot be shown again. Throws Fault `conflict` if the
 * API has the maximum number of tokens.
 * @param limits the expiry and the role of the token; none by default
 */
export async function createToken(
  name: string,
  api: "core" | "connector",
  { hashes, now, random }: { hashes: TokenHashes; now: Now; random: (bytes: number) => Uint8Array },
  limits: Pick<TokenHash, "expiresAt" | "role"> = {},
): Promise<{ readonly token: string; readonly hash: TokenHash }> {
  const id = Buffer.from(random(4)).toString("hex");
  const token = await withTag(`${api}_${id}_${Buffer.from(random(24)).toString("base64url")}`, hashes);
  const hash = { id, name, sha256: hashToken(token), createdAt: now(), ...limits };
  if ((await hashes.read()).length >= maxTokens) {
    throw new Fault("conflict", `There are already ${maxTokens} API tokens. Revoke one that is no longer used.`);
  }
  await hashes.add(hash);
  return { token, hash };
}

/** Revokes a token. Hosts refuse it after their next read of Key Vault. Throws Fault `not_found`. */
export async function revokeToken(id: string, hashes: TokenHashes): Promise<void> {
  if (!(await hashes.revoke(id))) throw new Fault("not_found", "There is no API token with this id.");
}
