// A network of yours: whether the subnets fit in that the template creates, or whether yours fit the template.
import { unchecked } from "./command.mjs";
import { isSame, subnetPrefix } from "./names.mjs";
import { contains, firstIn, overlap, parseRange } from "./ranges.mjs";

/**
 * Returns a sentence for each problem of NETWORK_ID and NETWORK_PREFIX.
 * @param token the part that names have in common
 */
export function networkProblems(az, environment, token) {
  const { NETWORK_ID: network, NETWORK_PREFIX: prefix, AZURE_LOCATION: location = "", TRIAL } = environment;
  if (!network || TRIAL === "true") return [];
  const found = az("rest", "--method", "get", "--url", `${network}?api-version=2024-05-01`);
  if (found === undefined) return unchecked("whether NETWORK_ID exists, and whether NETWORK_PREFIX is free in it");
  const { addressSpace, subnets = [] } = found.properties;
  const given = parseRange(prefix);
  // A value that is none, or too small, is reported with the other values.
  const wanted = given && firstIn(given, 24);
  if (wanted === undefined) return [];
  const all = rangesOf(addressSpace.addressPrefixes);
  const used = subnets.filter(
    ({ name, properties: { addressPrefix, addressPrefixes = [] } }) =>
      !(token && name.startsWith(subnetPrefix(token))) &&
      rangesOf([addressPrefix, ...addressPrefixes]).some(each => overlap(each, wanted)),
  );
  return [
    ...(isSame(found.location, location) ? [] : [`NETWORK_ID is in ${found.location}, the deployment in ${location}.`]),
    ...(all.some(each => contains(each, wanted))
      ? []
      : [`NETWORK_PREFIX ${prefix} is no /24 of NETWORK_ID, which has ${all.map(({ text }) => text).join(", ")}.`]),
    ...used.map(({ name }) => `NETWORK_PREFIX ${prefix} overlaps with the subnet ${name} of NETWORK_ID.`),
  ];
}

const rangesOf = texts => texts.map(parseRange).filter(range => range !== undefined);

const delegation = "Microsoft.App/environments";

/** Returns a sentence for each subnet of yours that no app can use: too small, or not delegated. */
export function subnetProblems(az, environment) {
  const apps = ["SUBNET_ID_CORE", "SUBNET_ID_CLIENT", "SUBNET_ID_CONNECTOR"].filter(name => environment[name]);
  return apps
    .filter(() => environment.TRIAL !== "true")
    .flatMap(name => {
      const found = az("rest", "--method", "get", "--url", `${environment[name]}?api-version=2024-05-01`);
      if (!found?.properties) return unchecked(`whether ${name} exists and fits`);
      const { addressPrefix, addressPrefixes = [], delegations = [] } = found.properties;
      const [range] = rangesOf([addressPrefix, ...addressPrefixes]);
      const isDelegated = delegations.some(({ properties }) => isSame(properties.serviceName, delegation));
      return [
        ...(range && range.bits > 27 ? [`${name} has ${range.text}: an app needs a /27 or larger.`] : []),
        ...(isDelegated ? [] : [`${name} is not delegated to ${delegation}.`]),
      ];
    });
}
