// Values with addresses, domains and names, which the template passes on as they are and Azure refuses in the middle of a deployment.
import { isIP } from "node:net";
import { contains, firstIn, overlap, parseRange, rangeProblem } from "./ranges.mjs";

/** Returns a sentence for each variable whose addresses, domains or names do not fit. */
export const addressProblems = environment => [
  ...ranges(environment),
  ...network(environment),
  ...subnetNames(environment),
  ...domains(environment),
  ...mailAddresses(environment),
];

/** An access restriction takes up to eight ranges in one rule, a rule of a security group one. */
const maxRanges = { PROXY_SOURCE: 8, CORE_DEPLOY_RANGE: 8, CORE_SETUP_RANGE: 8, OPERATOR_RANGE: 1, NETWORK_PREFIX: 1 };

const listOf = (text = "") => (text.trim() === "" ? [] : text.split(",").map(part => part.trim()));

const ranges = environment =>
  Object.entries(maxRanges).flatMap(([name, most]) => {
    const parts = listOf(environment[name]);
    // The template splits at commas and passes on what is between them.
    if (parts.length > 0 && /\s/.test(environment[name])) return [`${name}: write it without spaces.`];
    // Another text is the name of a service tag.
    const isTag = part => name === "PROXY_SOURCE" && isIP(part.split("/")[0]) === 0 && /^[\w.]+$/.test(part);
    const found = parts.filter(part => !isTag(part));
    if (parts.length > 1 && found.length < parts.length) return [`${name}: name one service tag, or address ranges.`];
    if (found.length > most)
      return [
        `${name} takes ${most === 1 ? "one address range" : `up to ${most} address ranges`}, not ${found.length}.`,
      ];
    if (name === "OPERATOR_RANGE" && found.some(part => isIP(part.split("/")[0]) === 6))
      return [`${name}: the network has IPv4 addresses only.`];
    return found
      .filter(part => parseRange(part) === undefined)
      .map(part => `${name}: "${part}" ${rangeProblem(part)}.`);
  });

/** Addresses that a subnet must have for the service that its name belongs to, as a prefix length. */
const longestPrefix = { AzureBastionSubnet: 26, AzureFirewallSubnet: 26, AzureFirewallManagementSubnet: 26 };
/** Names of the subnets that the template creates in a network of its own. */
const ownSubnets = ["core", "client", "connector", "auth-endpoints", "connector-endpoints", "core-endpoint"];

/** The template uses the first /24 of NETWORK_PREFIX, and all of it is the range of its own network. */
function network({ NETWORK_PREFIX, ADDITIONAL_SUBNETS, NETWORK_ID, SUBNET_ID_CORE, TRIAL }) {
  if (TRIAL === "true" || SUBNET_ID_CORE) return [];
  const all = parseRange(NETWORK_PREFIX || "10.90.0.0/23");
  if (all === undefined) return [];
  const used = firstIn(all, 24);
  if (all.family !== "ipv4" || used === undefined)
    return [`NETWORK_PREFIX ${all.text} is too small: give an IPv4 range of /24 or more addresses, as 10.90.0.0/23.`];
  if (NETWORK_ID) return [];
  const subnets = listOf(ADDITIONAL_SUBNETS).map(part => part.split("=").map(side => side.trim()));
  return subnets.flatMap(([name, text = ""], position) => {
    const range = parseRange(text);
    const subject = `ADDITIONAL_SUBNETS: ${name}=${text}`;
    if (range === undefined) return [`ADDITIONAL_SUBNETS: ${name}: "${text}" ${rangeProblem(text)}.`];
    const most = longestPrefix[name] ?? 29;
    const others = subnets.slice(0, position).filter(([, other]) => overlap(parseRange(other) ?? used, range));
    return [
      ...(contains(all, range) ? [] : [`${subject} is outside of NETWORK_PREFIX ${all.text}.`]),
      ...(overlap(used, range)
        ? [`${subject} overlaps with ${used.text}, which the subnets of the template use.`]
        : []),
      ...(range.bits > most ? [`${subject} is too small: Azure needs /${most} or more addresses.`] : []),
      ...(subnets.findIndex(([other]) => other === name) < position ? [`ADDITIONAL_SUBNETS names ${name} twice.`] : []),
      ...(ownSubnets.includes(name) ? [`${subject}: the template has a subnet of this name.`] : []),
      ...others.map(([other]) => `${subject} overlaps with ${other}.`),
    ];
  });
}

/** Azure refuses an app of this plan in a subnet whose name has an underscore, and an id that is none. */
const subnetNames = environment =>
  Object.entries(environment)
    .filter(([name, id]) => /^SUBNET_ID_/.test(name) && id && environment.TRIAL !== "true")
    .flatMap(([name, id]) => {
      const [, subnet] =
        /^\/subscriptions\/[^/]+\/resourceGroups\/.+\/virtualNetworks\/[^/]+\/subnets\/([^/]+)$/i.exec(id) ?? [];
      if (subnet === undefined)
        return [`${name}: "${id}" is no id of a subnet: /subscriptions/…/virtualNetworks/<network>/subnets/<subnet>.`];
      const isOfApp = !/_ENDPOINTS?$/.test(name);
      return isOfApp && subnet.includes("_")
        ? [`${name}: the subnet ${subnet} has an underscore in its name, and Flex Consumption refuses that.`]
        : [];
    });

const domains = ({ MAIL_DOMAIN }) =>
  !MAIL_DOMAIN || /^(?=.{3,253}$)([a-z\d]([a-z\d-]{0,61}[a-z\d])?\.)+[a-z][a-z\d-]*$/i.test(MAIL_DOMAIN)
    ? []
    : [`MAIL_DOMAIN: "${MAIL_DOMAIN}" is no domain. Write it without https:// and without @, as keys.example.com.`];

const mailAddresses = ({ ALERT_MAIL_TO }) =>
  listOf(ALERT_MAIL_TO)
    .filter(address => !/^[^\s@,;<>]+@[^\s@,;<>]+\.[^\s@,;<>.]+$/.test(address))
    .map(address => `ALERT_MAIL_TO: "${address}" is no mail address. Write addresses separated by commas.`);
