// Checks the variables of an azd environment with the code that reads the settings of the apps, before anything is created. Prints the
// problems as JSON; the hooks show them, or ask for what is missing.

import { authSettings } from "../../lib/auth/settings.ts";
import { connectorSettings } from "../../lib/connector/settings.ts";
import { deploymentSettings } from "../../lib/platform/settings/deployment-settings.ts";
import { BadSettings, type Environment } from "../../lib/platform/settings/read-settings.ts";
import { describeSettings } from "../generate/describe-settings.ts";
import { apis, appEnvironments, ownVariables } from "./app-environments.ts";
import { readAllSettings } from "./read-all-settings.ts";

const schemas = [deploymentSettings, authSettings, connectorSettings];
const descriptions = new Map(
  schemas.flatMap(describeSettings).map(({ name, description }) => [name, description] as const),
);

const environments = appEnvironments(process.env);
/** Other variables of the shell and of azd: a misspelt setting is recognised among them. */
const others = Object.fromEntries(Object.entries(process.env).filter(([name]) => !descriptions.has(name)));
const problems = apis.flatMap(api =>
  problemsOf({ ...others, ...environments[api] }).map(({ path, reason }) => ({
    path: ownVariables[api][path] ?? path,
    reason,
    description: descriptions.get(path) ?? "",
  })),
);
const unique = new Map(problems.map(problem => [`${problem.path} ${problem.reason}`, problem]));
console.log(JSON.stringify([...unique.values()]));

function problemsOf(environment: Environment): BadSettings["problems"] {
  try {
    readAllSettings(environment);
    return [];
  } catch (error) {
    if (error instanceof BadSettings) return error.problems;
    throw error;
  }
}
