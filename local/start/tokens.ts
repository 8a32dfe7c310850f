import { randomBytes } from "node:crypto";
import { hashOf } from "../../lib/platform/crypto.ts";
import { instant } from "../../lib/platform/time.ts";
import type { Vault } from "../peers/vault/vault.ts";

/** A token for each protected API. */
export interface Tokens {
  readonly core: string;
  readonly connector: string;
}

/**
 * Returns static API tokens, which are short enough to paste. They are the same at every start if the vault keeps its state. A
 * real vault stores only their hashes.
 */
export function localTokens(vault: Vault): Tokens {
  return { core: localToken("core", vault), connector: localToken("connector", vault) };
}

function localToken(api: keyof Tokens, vault: Vault): string {
  const kept = `local-${api}-token`;
  const token = vault.get(kept) ?? `${api}_${randomBytes(4).toString("hex")}_${randomBytes(32).toString("base64url")}`;
  if (vault.get(kept) === undefined) vault.set(kept, token);
  accept(api, token, vault);
  return token;
}

function accept(api: keyof Tokens, token: string, vault: Vault): void {
  const name = `${api}-api-tokens`;
  const sha256 = hashOf(token);
  if (vault.tags(name).some(tags => tags.sha256 === sha256)) return;
  const [, id = ""] = token.split("_");
  vault.set(name, id, { id, name: "local", sha256, createdAt: instant(Date.now()) });
}
