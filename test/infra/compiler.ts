import { spawnSync } from "node:child_process";

/** Commands that run Bicep's compiler, the first one that works is taken. */
const commands = [
  ["bicep", []],
  ["az", ["bicep"]],
] as const;

/** Returns what the compiler and its linter say of a template, a line each; undefined where there is no compiler on the PATH. */
export function compilerFaults(path: string, environment = process.env): readonly string[] | undefined {
  const run = (command: string, args: readonly string[]) =>
    spawnSync(command, args, { encoding: "utf8", env: environment });
  // `az bicep version` fails where az has no compiler yet, and installs none.
  const found = commands.find(
    ([command, before]) => run(command, [...before, before.length === 0 ? "--version" : "version"]).status === 0,
  );
  if (found === undefined) return undefined;
  const [command, before] = found;
  const build = before.length === 0 ? ["build", path, "--stdout"] : [...before, "build", "--file", path, "--stdout"];
  const { status, stderr } = run(command, build);
  const lines = stderr.split("\n").filter(line => /: (?:Error|Warning) /.test(line));
  return status === 0 || lines.length > 0 ? lines : [stderr];
}
