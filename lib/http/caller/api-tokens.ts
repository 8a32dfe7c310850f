import { Fault } from "../../fault.ts";
import type { Now } from "../../time.ts";
import { hashOfToken, type TokenHash } from "./bearer.ts";

/** Where the hashes of an API's static tokens are stored: each on its own, so that no write can undo another (decision G3). */
export interface TokenHashes {
  /** Returns the cached hashes in force. `refresh` asks for a new read, which may be limited in number. */
  known(refresh: boolean): Promise<readonly TokenHash[]>;
  /** Returns the hashes in force as they are stored at this moment. */
  read(): Promise<readonly TokenHash[]>;
  add(hash: TokenHash): Promise<void>;
  /** Revokes a token for good. Returns false where no token of that id is in force. */
  revoke(id: string): Promise<boolean>;
}

/** The most tokens that one API may have in force. */
const maxTokens = 100;

/**
 * Creates a static token. Only its hash is stored: the token is shown now and never again.
 * Throws Fault `conflict` when there are too many.
 */
export async function createToken(
  name: string,
  surface: "core" | "connector",
  { hashes, now, random }: { hashes: TokenHashes; now: Now; random: (bytes: number) => Uint8Array },
): Promise<{ readonly token: string; readonly hash: TokenHash }> {
  const id = Buffer.from(random(4)).toString("hex");
  const token = `${surface}_${id}_${Buffer.from(random(32)).toString("base64url")}`;
  const hash = { id, name, sha256: hashOfToken(token), createdAt: now() };
  if ((await hashes.read()).length >= maxTokens) {
    throw new Fault("conflict", `There are ${maxTokens} API tokens already. Revoke one that is not used any more.`);
  }
  await hashes.add(hash);
  return { token, hash };
}

/** Revokes a token: hosts refuse it as soon as they have read the vault again. Throws Fault `not_found`. */
export async function revokeToken(id: string, hashes: TokenHashes): Promise<void> {
  if (!(await hashes.revoke(id))) throw new Fault("not_found", "There is no such API token.");
}
