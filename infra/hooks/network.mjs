// A network of yours, in which the template creates its subnets: whether they fit in.
import { unchecked } from "./command.mjs";
import { isSame, subnetPrefix } from "./names.mjs";

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
  const wanted = first24(prefix);
  const all = addressSpace.addressPrefixes;
  const used = subnets.filter(
    ({ name, properties: { addressPrefix, addressPrefixes = [] } }) =>
      !(token && name.startsWith(subnetPrefix(token))) &&
      [addressPrefix, ...addressPrefixes].some(each => each !== undefined && overlap(rangeOf(each), wanted)),
  );
  return [
    ...(isSame(found.location, location) ? [] : [`NETWORK_ID is in ${found.location}, the deployment in ${location}.`]),
    ...(all.some(each => contains(rangeOf(each), wanted))
      ? []
      : [`NETWORK_PREFIX ${prefix} is no /24 of NETWORK_ID, which has ${all.join(", ")}.`]),
    ...used.map(({ name }) => `NETWORK_PREFIX ${prefix} overlaps with the subnet ${name} of NETWORK_ID.`),
  ];
}

/** Returns the first and the last address of a range as numbers. */
function rangeOf(prefix = "") {
  const [address = "", bits = "32"] = prefix.split("/");
  const first = address.split(".").reduce((all, byte) => all * 256 + Number(byte), 0);
  return { first, last: first + 2 ** (32 - Number(bits)) - 1 };
}

/** Returns the addresses that the template uses; a smaller range gives what is in no network. */
function first24(prefix) {
  const { first, last } = rangeOf(prefix);
  return { first, last: last >= first + 255 ? first + 255 : Number.NaN };
}

const contains = (one, other) => one.first <= other.first && other.last <= one.last;
const overlap = (one, other) => one.first <= other.last && other.first <= one.last;
