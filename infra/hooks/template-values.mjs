// Values that the templates limit: azd finds a wrong one only after its questions, and some only Azure itself.
import { readFileSync } from "node:fs";

/** Where the mail service can keep its data. */
const dataLocations =
  "Africa, Asia Pacific, Australia, Brazil, Canada, Europe, France, Germany, India, Japan, Korea, Norway, Switzerland, UAE, UK, United States";

/** Azure's type of an existing resource, by the name of its variable. */
const idTypes = [
  [/^NETWORK_ID$/, "Microsoft.Network/virtualNetworks"],
  [/^DNS_ZONE_ID_/, "Microsoft.Network/privateDnsZones"],
  [/^NAT_GATEWAY_ID$/, "Microsoft.Network/natGateways"],
  [/^ROUTE_TABLE_ID$/, "Microsoft.Network/routeTables"],
  [/^IDENTITY_ID_/, "Microsoft.ManagedIdentity/userAssignedIdentities"],
  [/^WORKSPACE_ID$/, "Microsoft.OperationalInsights/workspaces"],
  [/^ACTION_GROUP_ID$/, "Microsoft.Insights/actionGroups"],
];

/**
 * Returns a sentence for each value that the templates or Azure refuse.
 * @param parameters the text of infra/main.parameters.json
 */
export const templateProblems = (environment, parameters) => [
  ...limited(environment, parameters),
  ...resourceIds(environment),
  ...dataLocation(environment),
];

/** Reads the limits where they are declared, in main.bicep. */
function limited(environment, parameters) {
  const bicep = readFileSync(new URL("../main.bicep", import.meta.url), "utf8");
  const declared = [...bicep.matchAll(/^((?:@.*\n)*)param (\w+) (string|int|bool)\b/gm)];
  return declared.flatMap(([, decorators, parameter, type]) => {
    const [, variable] = new RegExp(`"${parameter}": \\{\\s*"value": "\\$\\{(\\w+)`).exec(parameters) ?? [];
    const value = environment[variable];
    const refusal = value ? refusalOf(value, type, decorators) : undefined;
    return refusal === undefined ? [] : [`${variable}: "${value}" ${refusal}.`];
  });
}

function refusalOf(value, type, decorators) {
  const argumentOf = name => new RegExp(`^@${name}\\((.*)\\)$`, "m").exec(decorators)?.[1];
  // Another word than these two is one thing to azd and another to the hooks.
  const allowed =
    type === "bool"
      ? ["true", "false"]
      : argumentOf("allowed")
          ?.replaceAll(/[[\]' ]/g, "")
          .split(",");
  if (allowed !== undefined) return allowed.includes(value) ? undefined : `is none of ${allowed.join(", ")}`;
  if (type === "int") {
    const [least, most] = [argumentOf("minValue") ?? "0", argumentOf("maxValue")];
    const fits = /^\d{1,10}$/.test(value) && Number(value) >= Number(least) && !(Number(value) > Number(most));
    return fits ? undefined : `is no number of ${least}${most === undefined ? " or more" : ` to ${most}`}`;
  }
  const longest = argumentOf("maxLength");
  return value.length > Number(longest) ? `is longer than ${longest} characters` : undefined;
}

const resourceIds = environment =>
  Object.entries(environment).flatMap(([name, id]) => {
    const type = idTypes.find(([pattern]) => pattern.test(name))?.[1];
    if (type === undefined || !id) return [];
    const form = new RegExp(`^/subscriptions/[^/\\s]+/resourceGroups/[^/\\s]+/providers/${type}/[^/\\s]+$`, "i");
    return form.test(id)
      ? []
      : [`${name}: "${id}" is no id of this kind: /subscriptions/…/resourceGroups/…/providers/${type}/<name>.`];
  });

/** Azure compares neither the case nor the spaces of a location of data. */
function dataLocation({ MAIL_DATA_LOCATION }) {
  const plain = text => text.toLowerCase().replaceAll(" ", "");
  return !MAIL_DATA_LOCATION || plain(dataLocations).split(",").includes(plain(MAIL_DATA_LOCATION))
    ? []
    : [`MAIL_DATA_LOCATION: "${MAIL_DATA_LOCATION}" is none of ${dataLocations}.`];
}
