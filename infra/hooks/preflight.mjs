// What would make a provision fail, found before anything is created.
import { unchecked } from "./command.mjs";
import { isSame, nameToken, vaultNames } from "./names.mjs";
import { networkProblems, subnetProblems } from "./network.mjs";
import { missingRights } from "./rights.mjs";

/** Every provider of the templates, and Microsoft.App, which subnets are delegated to and no resource of which is in a template. */
export const providers = [
  "Microsoft.App",
  "Microsoft.Communication",
  "Microsoft.Insights",
  "Microsoft.KeyVault",
  "Microsoft.ManagedIdentity",
  "Microsoft.Network",
  "Microsoft.OperationalInsights",
  "Microsoft.Storage",
  "Microsoft.Web",
];

/** The first Azure CLI that knows Flex Consumption (2.60.0) and its zones (2.66.0). Debian 12 ships 2.45.0. azure.yaml has that of azd. */
export const minimumAz = "2.66.0";

/**
 * Returns a sentence for each problem. What az does not answer is reported and is no problem: it may be missing only the right to
 * look.
 * @param az returns what az prints, undefined where it fails
 */
export function preflight(environment, az) {
  const { AZURE_SUBSCRIPTION_ID: subscription, AZURE_LOCATION: location = "" } = environment;
  const ask = (...parameters) => az(...parameters, ...(subscription ? ["--subscription", subscription] : []));
  const cloud = az("cloud", "show");
  if (cloud === undefined) return unchecked("anything: the Azure CLI did not answer");
  const old = outdated(az("version")?.["azure-cli"]);
  if (old.length > 0) return old;
  if (cloud.name !== "AzureCloud")
    return [`The templates are for the public cloud, not for ${cloud.name}: \`az cloud set --name AzureCloud\`.`];
  if (ask("account", "show") === undefined)
    return unchecked("anything: run `az login`, with an account that may see the subscription");
  const token = tokenOf(ask, environment);
  return [
    ...unregistered(ask),
    ...(location === ""
      ? unchecked("the region: AZURE_LOCATION is not set yet")
      : regionProblems(az, ask, environment)),
    ...missingRights(az, environment),
    ...networkProblems(az, environment, token),
    ...subnetProblems(az, environment),
    ...(token === undefined ? unchecked("the names of the vaults") : takenVaults(ask, environment, token)),
  ];
}

function outdated(version) {
  if (typeof version !== "string") return unchecked("the version of the Azure CLI");
  const parts = text => text.split(".").map(Number);
  const [found, wanted] = [parts(version), parts(minimumAz)];
  const at = wanted.findIndex((part, position) => part !== found[position]);
  return at < 0 || found[at] > wanted[at]
    ? []
    : [
        `The Azure CLI ${version} is too old, ${minimumAz} is needed: \`az upgrade\`, or https://aka.ms/install-azure-cli instead of the package of your distribution.`,
      ];
}

function unregistered(ask) {
  const found = ask("provider", "list", "--query", "[].{name:namespace,state:registrationState}");
  if (found === undefined) return unchecked("whether the providers are registered");
  const missing = providers.filter(
    name => !found.some(each => each.name.toLowerCase() === name.toLowerCase() && each.state === "Registered"),
  );
  return missing.flatMap(name => {
    console.log(`Registering ${name} in the subscription; this takes some minutes.`);
    if (ask("provider", "register", "--namespace", name, "--wait") !== undefined) return [];
    return [
      `${name} is not registered. Have an owner of the subscription run: az provider register --namespace ${name} --wait`,
    ];
  });
}

function regionProblems(az, ask, environment) {
  const {
    AZURE_LOCATION: location,
    FUNCTIONS_NODE_VERSION: node = "24",
    STORAGE_SKU: sku = "Standard_ZRS",
  } = environment;
  const redundant = environment.ZONE_REDUNDANT === "true";
  const offered = az(
    "functionapp",
    "list-flexconsumption-locations",
    ...(redundant ? ["--zone-redundant", "true"] : []),
  );
  if (offered === undefined) return unchecked("whether the region offers Flex Consumption");
  if (!offered.some(({ name }) => isSame(name, location)))
    return [
      `${location} does not offer Flex Consumption${redundant ? " with availability zones: unset ZONE_REDUNDANT, or" : ":"} take one of ${offered.map(({ name }) => name).join(", ")}.`,
    ];
  const runtimes = az("functionapp", "list-flexconsumption-runtimes", "--location", location, "--runtime", "node");
  // Two forms of the answer are in use.
  const versionOf = ({ version, sku }) => version ?? sku?.functionAppConfigProperties?.runtime?.version ?? [];
  const versions = runtimes?.flatMap(versionOf) ?? [];
  const noNode = versions.includes(node || "24")
    ? []
    : runtimes !== undefined && (versions.length > 0 || runtimes.length === 0)
      ? [
          `${location} offers no Node ${node || "24"}: azd env set FUNCTIONS_NODE_VERSION to one of ${versions.join(", ")}.`,
        ]
      : unchecked(`whether ${location} offers Node ${node || "24"}`);
  const places = ask("account", "list-locations", "--query", "[].{name:name,zones:availabilityZoneMappings}");
  const place = places?.find(({ name }) => isSame(name, location));
  // A trial has no redundant storage, whatever STORAGE_SKU is.
  const needsZones = environment.TRIAL !== "true" && /ZRS$/.test(sku || "Standard_ZRS");
  if (place === undefined)
    return [...noNode, ...(needsZones ? unchecked(`whether ${location} has availability zones`) : [])];
  const noZones =
    needsZones && (place.zones ?? []).length === 0
      ? [`${location} has no availability zones: azd env set STORAGE_SKU Standard_LRS.`]
      : [];
  return [...noNode, ...noZones];
}

/** Returns the part that names have in common; undefined where the resource group is not known. */
export function tokenOf(ask, environment) {
  const { AZURE_SUBSCRIPTION_ID: subscription, AZURE_RESOURCE_GROUP: group } = environment;
  const groups = subscription && group ? ask("group", "list", "--query", "[].{name:name,id:id}") : undefined;
  if (groups === undefined) return undefined;
  // The id as Azure writes it counts, in the case in which the group was created.
  const found = groups.find(({ name }) => isSame(name, group));
  return nameToken(found?.id ?? `/subscriptions/${subscription}/resourceGroups/${group}`, environment);
}

/** Vaults whose names this deployment wants, and which it does not have: a deleted vault keeps its name for 90 days. */
function takenVaults(ask, { AZURE_RESOURCE_GROUP: group, AZURE_LOCATION: location }, token) {
  const inSubscription = ask("resource", "list", "--resource-type", "Microsoft.KeyVault/vaults");
  const deleted = ask("keyvault", "list-deleted", "--resource-type", "vault");
  if (inSubscription === undefined || deleted === undefined) return unchecked("the names of the vaults");
  const own = inSubscription.filter(({ resourceGroup }) => isSame(resourceGroup, group));
  const problems = vaultNames(token).flatMap(vault => {
    const hasName = ({ name }) => isSame(name, vault);
    const present = own.find(hasName);
    if (present !== undefined) return inOtherRegion(present.location, location);
    const found = deleted.find(hasName);
    return found === undefined ? takenElsewhere(ask, vault) : [deletedVault(found, group, location)];
  });
  return [...new Set(problems)];
}

/** Azure refuses a resource that exists in another region (InvalidResourceLocation). */
const inOtherRegion = (present, location) =>
  !present || !location || isSame(present, location)
    ? []
    : [
        `The deployment is in ${present} and cannot be moved to ${location}: azd env set AZURE_LOCATION ${present}, or deploy a new environment (docs/operate.md, "Into another region").`,
      ];

const otherName = "To begin without them: azd env set NAME_SUFFIX to another value.";

function deletedVault({ name, properties }, group, location) {
  const purge =
    properties?.purgeProtectionEnabled === true ? "" : ` To delete it for good: az keyvault purge --name ${name}.`;
  const former = properties?.location ?? location;
  const region = isSame(former, location)
    ? ""
    : `azd env set AZURE_LOCATION ${former}, because it stays in its region, `;
  return `The vault ${name} was deleted and keeps its name. To go on with its keys: ${region}az group create --name ${group} --location ${former}, az keyvault recover --name ${name} --resource-group ${group}.${purge} ${otherName}`;
}

/** A vault of another subscription or tenant, or a deleted one that this account may not list, has the name. */
function takenElsewhere(ask, vault) {
  const answer = ask("keyvault", "check-name", "--name", vault, "--resource-type", "vault");
  if (typeof answer?.nameAvailable !== "boolean") return unchecked(`whether the name ${vault} is taken`);
  return answer.nameAvailable
    ? []
    : [
        `The name ${vault} is taken by a vault that is not in this resource group and not among the deleted vaults that you may list: azd env set NAME_SUFFIX to another value.`,
      ];
}
