import { randomBytes } from "node:crypto";
import { sinkSecretName } from "../../lib/connector/event-settings.ts";
import { splitList } from "../../lib/platform/settings/setting.ts";
import type { Vault } from "../peers/vault/vault.ts";

/**
 * Returns the signing secret of each event sink, and creates those that the vault does not have. They are the same at
 * every start if the vault keeps its state.
 * @param urls the setting `EVENT_SINK_URLS`
 */
export const sinkSecrets = (urls: string, vault: Vault): readonly string[] =>
  splitList(urls).map((_, index) => {
    const name = sinkSecretName(index + 1);
    const secret = vault.get(name) ?? `whsec_${randomBytes(32).toString("base64")}`;
    if (vault.get(name) === undefined) vault.set(name, secret);
    return secret;
  });
