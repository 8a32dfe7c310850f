// Before the resources are made: what would fail is reported, and new keys are made.
import { randomBytes } from "node:crypto";
import { createAz, setInEnvironment } from "./command.mjs";
import { isDomainLinked } from "./mail-domain.mjs";
import { idpFileAddress } from "./names.mjs";
import { preflight, tokenOf } from "./preflight.mjs";
import { settingProblems } from "./settings.mjs";
import { brokenValues, stopOn } from "./values.mjs";

const { SKIP_PREFLIGHT } = process.env;
const az = createAz();
stopOn(brokenValues(process.env));
if (SKIP_PREFLIGHT !== "true") stopOn([...settingProblems(process.env), ...preflight(process.env, az)]);
const mailDomain = linkedMailDomain(process.env);
if (SKIP_PREFLIGHT !== "true") stopOn(refusedSender(process.env, mailDomain));

// New in every run. The template uses them only where a vault has none yet, so those of a second run are worth nothing.
const newKey = () => randomBytes(32).toString("base64url");
const yearInSeconds = 365 * 86_400;
setInEnvironment({
  NEW_AUTH_DATA_KEY: newKey(),
  NEW_AUTH_PEPPER: newKey(),
  NEW_CONNECTOR_DATA_KEY: newKey(),
  NEW_KEYS_EXPIRE_ON: String(Math.floor(Date.now() / 1000) + yearInSeconds),
  ...mailDomain,
  ...idpFile(process.env),
});

/** The address of the file of several identity providers, which has the name of a storage account that the template computes. */
function idpFile({ IDP_ENABLE_MULTI_IDP, IDP_CONFIGURATION_PATH, ...environment }) {
  if (IDP_ENABLE_MULTI_IDP !== "true" || IDP_CONFIGURATION_PATH) return {};
  const { AZURE_SUBSCRIPTION_ID: subscription } = environment;
  const token = tokenOf((...parameters) => az(...parameters, "--subscription", subscription), environment);
  if (token === undefined)
    stopOn(["IDP_CONFIGURATION_PATH: its address is not known without the Azure CLI: run `az login`."]);
  return { IDP_CONFIGURATION_PATH: idpFileAddress(token) };
}

/** Whether the mail domain is linked now: the template keeps it linked. Nothing where Azure does not say. */
function linkedMailDomain({ AZURE_SUBSCRIPTION_ID, AZURE_RESOURCE_GROUP, AZURE_ENV_NAME, ...more }) {
  // An answer that azd asked for is no variable, but the first provision has the domain as an output.
  const mailDomain = more.MAIL_DOMAIN || more.MAIL_DOMAIN_NAME;
  if (!AZURE_SUBSCRIPTION_ID || !AZURE_RESOURCE_GROUP || !mailDomain) return {};
  const linked = isDomainLinked(az, { AZURE_SUBSCRIPTION_ID, AZURE_RESOURCE_GROUP, AZURE_ENV_NAME }, mailDomain);
  if (linked === undefined) return {};
  return { MAIL_DOMAIN_LINKED: String(linked) };
}

/** A domain has the default sending limits until a support request after its first link, and with these Azure refuses any other sender. */
function refusedSender({ MAIL_SENDER_NAME: name = "", CORE_APP_NAME }, { MAIL_DOMAIN_LINKED: isLinked }) {
  if (["", "donotreply"].includes(name.toLowerCase()) || (CORE_APP_NAME && isLinked !== "false")) return [];
  return [
    `MAIL_SENDER_NAME: Azure refuses "${name}" until the mail domain is linked and its sending limits are raised. Now \`azd env set MAIL_SENDER_NAME ""\`, and set it again then.`,
  ];
}
