// What the person or pipeline must be allowed to do: in the resource group, and with the existing resources of a platform team.
import { unchecked } from "./command.mjs";

const needed = [
  "Microsoft.Resources/deployments/write",
  "Microsoft.Web/sites/write",
  "Microsoft.KeyVault/vaults/secrets/write",
  "Microsoft.Authorization/roleAssignments/write",
];

const permissions = "providers/Microsoft.Authorization/permissions?api-version=2022-04-01";

/** Returns a sentence for each right that is missing. */
export function missingRights(az, environment) {
  const read = scope => az("rest", "--method", "get", "--url", `${scope}/${permissions}`)?.value;
  return [...missingInGroup(read, environment), ...missingOnExisting(read, environment)];
}

function missingInGroup(read, environment) {
  const { AZURE_SUBSCRIPTION_ID: subscription, AZURE_RESOURCE_GROUP: group, RESOURCE_LOCKS: locks } = environment;
  if (!subscription) return unchecked("your rights: AZURE_SUBSCRIPTION_ID is not set yet");
  const found =
    (group && read(`/subscriptions/${subscription}/resourceGroups/${group}`)) || read(`/subscriptions/${subscription}`);
  if (!found) return unchecked("your rights");
  const wanted = locks === "true" ? [...needed, "Microsoft.Authorization/locks/write"] : needed;
  const missing = wanted.filter(action => !found.some(permission => grants(permission, action)));
  return missing.length === 0
    ? []
    : [
        `You may not do ${missing.join(", ")} in ${group ?? "the subscription"}: Owner, or Contributor with Role Based Access Control Administrator, is needed${locks === "true" ? ", and for locks Owner or User Access Administrator" : ""}.`,
      ];
}

/** What the use of an existing resource needs, by the name of its variable, and the narrowest built-in role that has it. */
const uses = [
  [/^NETWORK_ID$/, "Microsoft.Network/virtualNetworks/subnets/write", "Network Contributor"],
  [/^NETWORK_GROUP$/, "Microsoft.Network/networkSecurityGroups/write", "Network Contributor"],
  [/^NETWORK_GROUP$/, "Microsoft.Resources/deployments/write", "Network Contributor"],
  [/^SUBNET_ID_/, "Microsoft.Network/virtualNetworks/subnets/join/action", "Network Contributor"],
  [/^NAT_GATEWAY_ID$/, "Microsoft.Network/natGateways/join/action", "Network Contributor"],
  [/^ROUTE_TABLE_ID$/, "Microsoft.Network/routeTables/join/action", "Network Contributor"],
  [/^DNS_ZONE_ID_/, "Microsoft.Network/privateDnsZones/join/action", "Private DNS Zone Contributor"],
  // Managed Identity Operator writes the right with a star for the identity, a role of one's own may write it without.
  [
    /^IDENTITY_ID_/,
    "Microsoft.ManagedIdentity/userAssignedIdentities/assign/action",
    "Managed Identity Operator",
    "Microsoft.ManagedIdentity/userAssignedIdentities/any/assign/action",
  ],
];

function missingOnExisting(read, environment) {
  const { NETWORK_ID: network } = environment;
  // The security groups of its subnets are created beside the network.
  const groupOfNetwork = network && { NETWORK_GROUP: network.split("/").slice(0, 5).join("/") };
  const given = Object.entries({ ...environment, ...groupOfNetwork }).filter(([, id]) => id);
  return uses
    .filter(() => environment.TRIAL !== "true")
    .flatMap(([variable, action, role, sameAction = action]) =>
      given
        .filter(([name]) => variable.test(name))
        .flatMap(([name, id]) => {
          const found = read(id);
          if (!found) return unchecked(`your rights on ${name}`);
          if (found.some(each => grants(each, action) || grants(each, sameAction))) return [];
          return [`You may not do ${action} on ${name} (${id}): the role ${role} on it is needed.`];
        }),
    );
}

const grants = ({ actions, notActions = [] }, action) => {
  const has = patterns => patterns.some(pattern => asPattern(pattern).test(action));
  return has(actions) && !has(notActions);
};

const asPattern = pattern => new RegExp(`^${pattern.split("*").map(escaped).join(".*")}$`, "i");
const escaped = text => text.replaceAll(/[.*+?^${}()|[\]\\]/g, "\\$&");
