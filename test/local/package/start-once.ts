// Starts the package under the local host in this process, makes one call without a token, and reports what was loaded and built
// until then.
import { readFileSync } from "node:fs";
import { registerHooks } from "node:module";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { installFunctionsCore } from "../../../local/host/functions-core.ts";
import { startHost } from "../../../local/host/host.ts";

/** What the start of an app and its first answer needed. */
export interface StartReport {
  readonly status: number;
  /** Files of the package that were loaded. */
  readonly files: readonly string[];
  /** Number of zod schemas and checks that were constructed. */
  readonly schemas: number;
}

const [folder = "", path = ""] = process.argv.slice(2);
const json = (name: string) => JSON.parse(readFileSync(join(folder, name), "utf8"));
const base = pathToFileURL(`${folder}/`).href;

let schemas = 0;
// zod calls this hook for everything that it constructs.
Object.assign(globalThis, { __zod_globalConfig: { postProcessor: () => schemas++ } });
const files: string[] = [];
registerHooks({
  load(url, context, next) {
    if (url.startsWith(base)) files.push(url.slice(base.length));
    return next(url, context);
  },
});
const core = installFunctionsCore();
await import(base + json("package.json").main);
const host = await startHost(core, { port: 0, hostJson: json("host.json"), timers: false });
const { status } = await fetch(host.url + path);
process.send?.({ status, files, schemas } satisfies StartReport);
await host.stop();
process.disconnect();
