import { readFileSync } from "node:fs";
import { installFunctionsCore } from "../../local/host/functions-core.ts";
import { startHost } from "../../local/host/host.ts";

// The deployed app as a host loads it, in a process of its own: one process can load it but once.
const core = installFunctionsCore();
await import("../../functions/main.ts");
const host = await startHost(core, { port: 0, timers: false, hostJson: JSON.parse(readFileSync("host.json", "utf8")) });
const functions = [...core.functions.values()].map(({ metadata: { name, bindings } }) => ({
  name,
  bindings: Object.values(bindings),
}));
process.send?.({ url: host.url, functions });
process.on("disconnect", () => process.exit());
