// Peers: the file of several identity providers, and one call of each peer that changes nothing.
import { runToEnd } from "../../hooks/command.mjs";
import { readHealth } from "../publish.mjs";

/** Returns what is left of the file of several identity providers; undefined if it is there, or is none of the storage. */
export function idpFileLeft({ az, environment }) {
  const { IDP_ENABLE_MULTI_IDP, IDP_CONFIGURATION_PATH: address = "" } = environment;
  if (IDP_ENABLE_MULTI_IDP !== "true" || !address.startsWith("https://")) return undefined;
  const found = az("storage", "blob", "exists", "--auth-mode", "login", "--blob-url", address);
  if (found?.exists === true) return undefined;
  const state = found ? "write the file" : "not checked, because this machine may not read it: write the file";
  return `${state} (docs/identity-providers.md) where the storage can be reached, and each secret idp-<id>-client-secret:\n    ${uploadOf(address, "idps.yaml").join(" ")}`;
}

/** Writes the file that `--idp-file` names. Without one a person does it; where it cannot be checked, the check of the peers shows it. */
export async function writeIdpFile(context) {
  const { az, environment, options, tell } = context;
  const left = idpFileLeft(context);
  if (options.idpFile === undefined) return left;
  const [, ...upload] = uploadOf(environment.IDP_CONFIGURATION_PATH, options.idpFile);
  if (az(...upload) === undefined) return `${options.idpFile} was not written: the Azure CLI gives the reason above`;
  tell(`Wrote ${options.idpFile} to ${environment.IDP_CONFIGURATION_PATH}. The connector reads it within a minute.`);
  return undefined;
}

const uploadOf = (address, file) => [
  ...["az", "storage", "blob", "upload", "--auth-mode", "login"],
  ...["--blob-url", address, "--file", file, "--overwrite"],
];

/** Sends every peer a call that changes nothing. Returns what is left. */
export async function checkPeers({ az, environment, options, times }) {
  if (options.withoutPeers) return undefined;
  const { AZURE_RESOURCE_GROUP, AZURE_SUBSCRIPTION_ID, CONNECTOR_APP_NAME } = environment;
  const url = environment.CONNECTOR_PUBLIC_BASE_URL || environment.CONNECTOR_URL;
  // A provision restarts the connector.
  const health = await readHealth(url, times);
  if (health !== "healthy" && health !== "unreadable") return `the peers were not checked: ${health}`;
  const place = ["--resource-group", AZURE_RESOURCE_GROUP, "--name", CONNECTOR_APP_NAME];
  const keys = az("functionapp", "keys", "list", ...place, "--subscription", AZURE_SUBSCRIPTION_ID);
  if (!keys?.masterKey) return "the peers were not checked: the master key of the connector cannot be read";
  const users = options.users.flatMap(user => ["--user", user]);
  // The key is no argument, which others on the machine can see.
  const env = { ...process.env, FUNCTIONS_KEY: keys.masterKey };
  const status = runToEnd("npm", ["run", "--silent", "check-peers", "--", "--url", url, ...users], { env });
  return status === 0 ? undefined : "a check of a peer failed, see above";
}
