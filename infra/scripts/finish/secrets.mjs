// Secrets that peers give: which are needed, which are there, and how one gets into a closed vault.
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";

const template = fileURLToPath(new URL("../../secret.bicep", import.meta.url));

/** Returns every secret that the settings need, with its vault and what it is for. */
export function neededSecrets(environment) {
  const { CONNECTOR_VAULT_NAME: vault, IDP_DEFAULT: idp, EVENT_SINK_URLS = "", OTP_VALIDATION_URLS } = environment;
  const ofConnector = (name, use) => ({ vault, name, use });
  const isManaged = environment.IDPA_MANAGED_IDENTITY === "true" || environment.IDP_ENABLE_MULTI_IDP === "true";
  const sinks = EVENT_SINK_URLS.split(",").map(url => url.trim());
  return [
    ofConnector("delivery-api-token", "the API token of the delivery service"),
    ...(isManaged ? [] : [ofConnector(`idp-${idp || "entra"}-client-secret`, "the secret at the identity provider")]),
    ...(environment.RFPR_API_BASE_URL ? [ofConnector("enrollment-credential", "on-site enrollment")] : []),
    ...sinks.flatMap((url, position) =>
      url && url !== "none" ? [ofConnector(`event-sink-${position + 1}`, `signatures of events for ${url}`)] : [],
    ),
    ...(OTP_VALIDATION_URLS
      ? [{ vault: environment.AUTH_VAULT_NAME, name: "otp-validation-key", use: "the validation servers" }]
      : []),
  ];
}

/** Returns the needed secrets that no vault has; undefined where Azure does not say. Reads names only, by the management plane. */
export function missingSecrets({ az, environment }) {
  const { AZURE_SUBSCRIPTION_ID: subscription, AZURE_RESOURCE_GROUP: group } = environment;
  const vaults = `/subscriptions/${subscription}/resourceGroups/${group}/providers/Microsoft.KeyVault/vaults`;
  const needed = neededSecrets(environment);
  const present = new Set();
  for (const vault of new Set(needed.map(each => each.vault))) {
    for (let url = `${vaults}/${vault}/secrets?api-version=2026-02-01`; url; ) {
      const found = az("rest", "--method", "get", "--url", url);
      if (!found?.value) return undefined;
      for (const { name } of found.value) present.add(`${vault}/${name}`);
      url = found.nextLink;
    }
  }
  return needed.filter(({ vault, name }) => !present.has(`${vault}/${name}`));
}

/**
 * Writes a secret, by a file that only its owner can read: arguments can be seen by others on the machine. Throws where Azure refuses.
 * @param value the secret, or @ and the name of a file that contains it
 * @param expiresOn seconds since 1970
 */
export function writeSecret({ az, environment }, { vault, name }, { value, expiresOn }) {
  // A file of one line ends with a newline that is no part of the secret.
  const text = value.startsWith("@") ? readFileSync(value.slice(1), "utf8").replace(/^([^\n]*?)\r?\n$/, "$1") : value;
  const directory = mkdtempSync(join(tmpdir(), "secret-"));
  try {
    const file = join(directory, "parameters.json");
    const parameters = { vaultName: vault, name, value: text, expiresOn };
    const values = Object.fromEntries(Object.entries(parameters).map(([key, each]) => [key, { value: each }]));
    writeFileSync(file, JSON.stringify({ parameters: values }), { mode: 0o600 });
    const { AZURE_SUBSCRIPTION_ID, AZURE_RESOURCE_GROUP } = environment;
    const place = ["--subscription", AZURE_SUBSCRIPTION_ID, "--resource-group", AZURE_RESOURCE_GROUP];
    const created = az(
      "deployment",
      "group",
      "create",
      ...place,
      "--template-file",
      template,
      "--parameters",
      `@${file}`,
    );
    if (created === undefined) throw new Error(`${name} was not written: the Azure CLI gives the reason above.`);
  } finally {
    rmSync(directory, { recursive: true });
  }
}
