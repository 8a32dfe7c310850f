// What azd puts into infra/main.parameters.json goes there as it is, so that a quote would end the text. Checked before azd reads the file.
import { readFileSync } from "node:fs";
import { addressProblems } from "./addresses.mjs";
import { templateProblems } from "./template-values.mjs";

/** Returns a sentence for each variable whose value would break the file of parameters or mean something else to the template. */
export function brokenValues(environment) {
  // Not import.meta.dirname, which Node has from 20.11 on.
  const file = readFileSync(new URL("../main.parameters.json", import.meta.url), "utf8");
  const names = [...new Set([...file.matchAll(/\$\{(\w+)/g)].map(([, name]) => name))];
  const unfit = names.flatMap(name => (fits(environment[name] ?? "") ? [] : [sentence(name)]));
  const broken = [
    ...unfit,
    ...addressProblems(environment),
    ...templateProblems(environment, file),
    ...brokenPairs(environment),
    ...uselessSubnets(environment),
  ];
  const subnets = names.filter(name => name.startsWith("SUBNET_ID_"));
  const missing = subnets.filter(name => !environment[name]);
  if (missing.length === subnets.length) return [...broken, ...missingPrefix(environment)];
  if (environment.NETWORK_ID) return [...broken, "Either the network is yours or the subnets: unset NETWORK_ID."];
  if (missing.length > 0)
    return [...broken, `Either all subnets are yours or none: ${missing.join(", ")} must be set too.`];
  return [...broken, ...sharedSubnets(subnets, environment), ...missingZones(names, environment)];
}

/** The template leaves out a part of a list that is no pair, and Azure refuses a subnet without a range in the middle of a deployment. */
const brokenPairs = ({ RESOURCE_TAGS, ADDITIONAL_SUBNETS }) => [
  ...unfitParts("RESOURCE_TAGS", RESOURCE_TAGS, /^\s*[^=\s][^=]*=/, "name=value"),
  ...unfitParts("ADDITIONAL_SUBNETS", ADDITIONAL_SUBNETS, /^\s*[\w.-]+\s*=[^=]*\S[^=]*$/, "name=10.90.1.0/27"),
];

const unfitParts = (name, list = "", form, sample) =>
  list
    .split(",")
    .filter(part => list.trim() !== "" && !form.test(part))
    .map(part => `${name}: "${part.trim()}" is no pair. Write ${sample}, separated by commas.`);

/** The template adds subnets only to a network of its own. */
const uselessSubnets = ({ ADDITIONAL_SUBNETS, NETWORK_ID, SUBNET_ID_CORE, TRIAL }) =>
  ADDITIONAL_SUBNETS && (NETWORK_ID || SUBNET_ID_CORE || TRIAL === "true")
    ? ["ADDITIONAL_SUBNETS has an effect only in the template's own network: unset it."]
    : [];

/** The default is a range of a new network. */
const missingPrefix = ({ NETWORK_ID, NETWORK_PREFIX }) =>
  NETWORK_ID && !NETWORK_PREFIX ? ["With a network of yours set NETWORK_PREFIX to a free /24 of it."] : [];

/** Azure refuses a second app of this plan, and may refuse a second endpoint, that joins a subnet while the first one does. */
function sharedSubnets(names, environment) {
  const ids = names.map(name => environment[name].toLowerCase());
  return new Set(ids).size === ids.length ? [] : [`${names.join(", ")} must be different subnets.`];
}

/** The template creates zones only with a network of its own; without zone or policy no app finds its storage and vault. */
function missingZones(names, environment) {
  if (environment.TRIAL === "true" || environment.PRIVATE_DNS === "none") return [];
  const missing = names.filter(name => name.startsWith("DNS_ZONE_ID_") && !environment[name]);
  if (missing.length === 0) return [];
  return [
    `With subnets of yours the DNS zones must be yours too: set ${missing.join(", ")}, or PRIVATE_DNS to none where a policy creates the records.`,
  ];
}

const sentence = name =>
  `${name}: azd writes the value into a JSON text as it is. Write \\" for a quote, \\\\ for a backslash and \\n for a new line.`;

/** Whether a value is what may stand between the quotes of a JSON text. */
function fits(value) {
  try {
    return typeof JSON.parse(`"${value}"`) === "string";
  } catch {
    return false;
  }
}

/** Prints problems below a heading and ends the run if there are any. */
export function stopOn(problems, heading = "This would make the deployment fail:") {
  if (problems.length === 0) return;
  console.error(`\n${heading}\n`);
  for (const problem of problems) console.error(`- ${problem}`);
  process.exit(1);
}
