import { Fault } from "../../fault.ts";
import type { Now } from "../../time.ts";
import { hashToken, type KnownTokens, type TokenHash, withTag } from "./bearer.ts";

/**
 * Storage for the hashes of an API's static tokens. Each hash is stored separately, so that concurrent writes cannot
 * conflict (G3).
 */
export interface TokenHashes extends KnownTokens {
  /** Reads the valid hashes from storage. */
  read(): Promise<readonly TokenHash[]>;
  add(hash: TokenHash): Promise<void>;
  /** Revokes a token permanently. Returns false if there is no valid token with this id. */
  revoke(id: string): Promise<boolean>;
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
