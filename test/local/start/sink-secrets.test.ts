import { afterAll, beforeAll, expect, it } from "vitest";
import { startVault, type Vault } from "../../../local/peers/vault/vault.ts";
import { sinkSecrets } from "../../../local/start/sink-secrets.ts";

let vault: Vault;
beforeAll(async () => {
  vault = await startVault();
});
afterAll(() => vault.close());

it("creates one secret for each entry of EVENT_SINK_URLS, and keeps those that exist", () => {
  expect(sinkSecrets("", vault)).toEqual([]);
  const [first] = sinkSecrets("http://127.0.0.1:1/a", vault);
  const both = sinkSecrets("http://127.0.0.1:1/a, none", vault);
  expect(both).toEqual([first, vault.get("event-sink-2")]);
  for (const secret of both) expect(secret).toMatch(/^whsec_[A-Za-z0-9+/]{43}=$/);
});
