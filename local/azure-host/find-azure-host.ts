// Development tool: finds the program that runs packaged functions in Azure, which this project does not bring along.
import { existsSync, statSync } from "node:fs";
import { basename, delimiter, join, resolve } from "node:path";

/** Azure's Functions host: a script that starts it on a folder (`FOLDER PORT APP`), or `func` of Core Tools. */
export interface AzureHost {
  readonly kind: "script" | "func";
  readonly path: string;
}

/** Why tests that need the host are skipped, and what to do about it. */
export const azureHostMissing =
  "Azure's Functions host is not at hand: install Azure Functions Core Tools, or set FUNCTIONS_HOST";

const scriptName = "start.py";

/**
 * Returns the host that `FUNCTIONS_HOST` names (a start script, its folder, or `func`), else the one in
 * `../shared/functions-host`, else `func` on the `PATH`; undefined if there is none.
 *
 * @throws Error if `FUNCTIONS_HOST` names no file
 */
export function findAzureHost(env: Readonly<Record<string, string | undefined>>, root: string): AzureHost | undefined {
  const named = env.FUNCTIONS_HOST?.trim();
  if (named) return namedHost(resolve(root, named));
  const shared = resolve(root, "..", "shared", "functions-host", scriptName);
  if (existsSync(shared)) return { kind: "script", path: shared };
  const names = process.platform === "win32" ? ["func.exe", "func.cmd"] : ["func"];
  const func = (env.PATH ?? "")
    .split(delimiter)
    .filter(folder => folder !== "")
    .flatMap(folder => names.map(name => join(folder, name)))
    .find(path => existsSync(path));
  return func === undefined ? undefined : { kind: "func", path: func };
}

function namedHost(path: string): AzureHost {
  const file = existsSync(path) && statSync(path).isDirectory() ? join(path, scriptName) : path;
  if (!existsSync(file)) throw new Error(`FUNCTIONS_HOST: there is no ${file}.`);
  return { kind: /^func(?:\.\w+)?$/i.test(basename(file)) ? "func" : "script", path: file };
}
