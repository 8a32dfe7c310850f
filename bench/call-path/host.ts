// A host for the bench of call paths: every API on one host, with the precise coverage of V8.
import { readFileSync } from "node:fs";
import { Session } from "node:inspector/promises";
import { fileURLToPath } from "node:url";
import { installFunctionsCore } from "../../local/host/functions-core.ts";
import { startHost } from "../../local/host/host.ts";

export type Command = "start" | "take" | "stop";

/** The functions that ran since `start`, by the file below the root that has them. */
export type CallPath = Readonly<Record<string, number>>;

const root = fileURLToPath(new URL("../../", import.meta.url));
const core = installFunctionsCore();
await import("../../functions/main.ts");
const hostJson = JSON.parse(readFileSync(`${root}host.json`, "utf8"));
const host = await startHost(core, { port: 0, timers: false, hostJson });

const inspector = new Session();
inspector.connect();
await inspector.post("Profiler.enable");

process.on("message", async (command: Command) => {
  if (command === "stop") {
    await host.stop();
    process.exit();
  }
  if (command === "start") {
    await inspector.post("Profiler.startPreciseCoverage", { callCount: true, detailed: false });
    process.send?.({});
    return;
  }
  const { result } = await inspector.post("Profiler.takePreciseCoverage");
  await inspector.post("Profiler.stopPreciseCoverage");
  process.send?.(deployedFunctions(result) satisfies CallPath);
});
process.once("disconnect", () => process.exit(1));
process.send?.({ url: host.url });

function deployedFunctions(scripts: readonly { url: string; functions: readonly FunctionCoverage[] }[]): CallPath {
  const counted = scripts.flatMap(({ url, functions }) => {
    const path = url.startsWith("file:") ? fileURLToPath(url).replace(root, "") : "";
    // A range from the start of the file is the top level, which runs when the script is loaded. V8 lists it only sometimes.
    const ran = functions.filter(
      ({ ranges: [whole] }) => whole !== undefined && whole.startOffset > 0 && whole.count > 0,
    );
    return /^(?:lib|functions)\//.test(path) && ran.length > 0 ? [[path, ran.length] as const] : [];
  });
  return Object.fromEntries(counted);
}

interface FunctionCoverage {
  readonly ranges: readonly { readonly startOffset: number; readonly count: number }[];
}
