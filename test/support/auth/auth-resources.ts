import { startVault } from "../../../local/peers/vault/vault.ts";
import { createStores } from "../../../local/start/system.ts";
import { localTokens } from "../../../local/start/tokens.ts";
import { atEndOfFile } from "../run/end-of-file.ts";
import { freshStorage } from "../storage/fresh-storage.ts";

/** Creates storage and a vault for the deployed app in a process of its own. The vault ends with the test file. */
export async function createAuthResources() {
  const vault = await startVault({
    secrets: {
      "data-encryption-key": Buffer.alloc(32, 5).toString("base64url"),
      "password-pepper": Buffer.alloc(32, 6).toString("base64url"),
    },
  });
  atEndOfFile(() => vault.close());
  const { connectionString } = freshStorage();
  await createStores(connectionString);
  const settings = {
    SERVICE_APIS: "core,client",
    CLOUD_STORAGE_CONNECTION_STRING: connectionString,
    CLOUD_KEY_VAULT_ENDPOINT: vault.url,
    CALLER_STATIC_TOKENS: "true",
  };
  const token = localTokens(vault).core;
  return { vault, token, bearer: { authorization: `Bearer ${token}` }, settings };
}
