import { startVault, type Vault } from "../../../local/peers/vault/vault.ts";
import { createStores } from "../../../local/start/system.ts";
import { localTokens } from "../../../local/start/tokens.ts";
import { freshStorage } from "../storage/fresh-storage.ts";

/** What the deployed authentication server works on. */
export interface AuthResources {
  readonly vault: Vault;
  /** The static token of the Core API. */
  readonly token: string;
  /** Of a host that uses them. */
  readonly settings: Readonly<Record<"CLOUD_STORAGE_CONNECTION_STRING", string>> & Readonly<Record<string, string>>;
}

/** Creates storage and a vault for the deployed app in a process of its own. The caller closes the vault. */
export async function createAuthResources(): Promise<AuthResources> {
  const vault = await startVault({
    secrets: {
      "data-encryption-key": Buffer.alloc(32, 5).toString("base64url"),
      "password-pepper": Buffer.alloc(32, 6).toString("base64url"),
    },
  });
  const { connectionString } = freshStorage();
  await createStores(connectionString);
  const settings = {
    SERVICE_APIS: "core,client",
    CLOUD_STORAGE_CONNECTION_STRING: connectionString,
    CLOUD_KEY_VAULT_ENDPOINT: vault.url,
    CALLER_STATIC_TOKENS: "true",
  };
  return { vault, token: localTokens(vault).core, settings };
}
