// The settings of the apps, read by the code that reads them at the start: a missing one otherwise shows after the deployment, as 503.
import { fileURLToPath } from "node:url";
import { run, unchecked } from "./command.mjs";

const task = fileURLToPath(new URL("../../local/run.mjs", import.meta.url));

/** Returns what is wrong with each setting, as `path`, `reason` and `description`; undefined where the check cannot run. */
export function readSettingProblems(environment) {
  const { status, stdout } = run(process.execPath, [task, "check-settings"], { env: environment });
  return status === 0 ? JSON.parse(stdout) : undefined;
}

/** Returns a sentence for each setting that is missing or wrong. */
export function settingProblems(environment) {
  const problems = readSettingProblems(environment);
  if (problems === undefined) return unchecked("the settings of the apps: their check did not start");
  return problems.map(
    ({ path, reason }) => `${path}: ${reason}${reason === "must be set" ? ` (azd env set ${path} …)` : ""}.`,
  );
}
