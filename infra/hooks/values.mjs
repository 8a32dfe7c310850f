// What azd puts into infra/main.parameters.json goes there as it is, so that a quote would end the text. Checked before azd reads the file.
import { readFileSync } from "node:fs";

/** Returns a sentence for each variable whose value would break the file of parameters. */
export function brokenValues(environment) {
  // Not import.meta.dirname, which Node has from 20.11 on.
  const file = readFileSync(new URL("../main.parameters.json", import.meta.url), "utf8");
  const names = [...new Set([...file.matchAll(/\$\{(\w+)/g)].map(([, name]) => name))];
  const broken = names.flatMap(name => (fits(environment[name] ?? "") ? [] : [sentence(name)]));
  const subnets = names.filter(name => name.startsWith("SUBNET_ID_"));
  const missing = subnets.filter(name => !environment[name]);
  if (missing.length === 0 || missing.length === subnets.length) return broken;
  return [...broken, `Either all subnets are yours or none: ${missing.join(", ")} must be set too.`];
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

/** Prints problems and ends the run if there are any. */
export function stopOn(problems) {
  if (problems.length === 0) return;
  console.error(`\n${problems.length === 1 ? "This" : "These"} would make the deployment fail:\n`);
  for (const problem of problems) console.error(`- ${problem}`);
  process.exit(1);
}
