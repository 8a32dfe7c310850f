// `npm test` and `npm run check`: checks, then tests, then one line that counts them.
import { spawnSync } from "node:child_process";
import { type RunScript, runPlan } from "./run-plan.ts";
import { type Plan, readOptions } from "./test-options.ts";

const run: RunScript = (script, more = {}) =>
  spawnSync(process.execPath, script, {
    stdio: ["ignore", "inherit", "inherit"],
    env: { ...process.env, ...more },
  }).status;

const plan = planOf(process.argv.slice(2));
if (typeof plan === "string") console.log(plan);
else if (plan === undefined) process.exitCode = 2;
else process.exitCode = runPlan(plan, run) ? 0 : 1;

function planOf(args: readonly string[]): Plan | string | undefined {
  try {
    return readOptions(args);
  } catch (error) {
    const [sentence = ""] = (error as Error).message.split(". To specify");
    console.error(`${sentence.replace(/\.?$/, ".")}\n\`npm test -- --help\` lists the options.`);
    return undefined;
  }
}
