// Serves a built folder by the local host, as `func start` would: what its package.json and host.json say, and nothing of this
// checkout. Settings are the environment's.
import { readFileSync } from "node:fs";
import { resolve } from "node:path";
import { pathToFileURL } from "node:url";
import { installFunctionsCore } from "../host/functions-core.ts";
import { startHost } from "../host/host.ts";

/** The message to the parent process once it serves requests. */
export interface Served {
  readonly url: string;
  /** Of loading the app alone. */
  readonly loadMs: number;
  readonly functions: readonly string[];
  readonly masterKey: string;
}

const [folder = "package"] = process.argv.slice(2);
const json = (name: string) => JSON.parse(readFileSync(resolve(folder, name), "utf8"));

const core = installFunctionsCore();
const began = performance.now();
await import(pathToFileURL(resolve(folder, json("package.json").main)).href);
const loadMs = performance.now() - began;
const host = await startHost(core, { port: Number(process.env.PORT ?? 0), hostJson: json("host.json"), timers: false });

process.on("disconnect", () => process.exit());
process.on("message", async command => {
  if (command === "stop") {
    await host.stop();
    process.exit();
  }
  // CPU milliseconds since the start of the process.
  const { user, system } = process.cpuUsage();
  process.send?.((user + system) / 1000);
});
const { url, functions, masterKey } = host;
process.send?.({ url, loadMs, functions, masterKey } satisfies Served);
if (process.send === undefined) console.log(`Serving ${folder} at ${url}`);
