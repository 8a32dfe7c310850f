// The settings of the apps, read by the code that reads them at the start: a missing one otherwise shows after the deployment, as 503.
import { fileURLToPath } from "node:url";
import { run } from "./command.mjs";
import { stopOn } from "./values.mjs";

const task = fileURLToPath(new URL("../../local/run.mjs", import.meta.url));

/** It may install the packages of the project first. */
const limitMs = 15 * 60_000;

/** Returns what is wrong with each setting, as `path`, `reason` and `description`. Ends the run where the check cannot run. */
export function readSettingProblems(environment) {
  const { status, stdout, error } = run(process.execPath, [task, "check-settings"], {
    env: environment,
    timeout: limitMs,
  });
  if (status !== 0)
    stopOn(
      [`Their check ended with ${error?.message ?? `status ${status}`}. Repeat the command once that is mended.`],
      "The settings of the apps could not be checked:",
    );
  return JSON.parse(stdout);
}

/** Returns a sentence for each setting that is missing or wrong. */
export function settingProblems(environment) {
  const problems = readSettingProblems(environment);
  return problems.map(
    ({ path, reason }) => `${path}: ${reason}${reason === "must be set" ? ` (azd env set ${path} …)` : ""}.`,
  );
}
