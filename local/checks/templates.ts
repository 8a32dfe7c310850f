// A check of `npm run check`: Bicep's compiler and its linter accept the templates, and each is formatted.
import { globSync, readFileSync } from "node:fs";
import { findCompiler, openCompiler } from "./bicep-compiler.ts";

const command = findCompiler();
if (command === undefined) {
  console.log("No compiler of Bicep: BICEP names none, and none is on the PATH or installed by `az bicep install`.");
  process.exitCode = 2;
} else {
  const compiler = openCompiler(command);
  const faults: string[] = [];
  for (const path of globSync(process.argv[2] ?? "infra/**/*.bicep")) {
    faults.push(...(await compiler.compile(path)).faults);
    if ((await compiler.format(path)) !== readFileSync(path, "utf8")) faults.push(`${path}: run bicep format ${path}`);
  }
  compiler.stop();
  for (const fault of new Set(faults)) console.error(fault);
  process.exitCode = faults.length === 0 ? 0 : 1;
}
