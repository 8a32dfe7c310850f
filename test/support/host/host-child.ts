// The deployed app behind a host, in a process of its own, which tests can stop and kill.
import { readFileSync } from "node:fs";
import { flushCompileCache } from "node:module";
import { installFunctionsCore } from "../../../local/host/functions-core.ts";
import { startHost } from "../../../local/host/host.ts";
import { followClock } from "./shared-clock.ts";

const [app = "", options = "{}"] = process.argv.slice(2);
const { limits, clock } = JSON.parse(options);
if (clock !== undefined) followClock(clock);

const core = installFunctionsCore();
const { start } = await import(app);
await start({ ...process.env }, limits);
const { url, masterKey } = await startHost(core, {
  port: 0,
  timers: false,
  hostJson: JSON.parse(readFileSync("host.json", "utf8")),
  log: (level, _, message) => (level === "error" ? console.error(message) : undefined),
});
const functions = [...core.functions.values()].map(({ metadata: { name, bindings } }) => ({
  name,
  bindings: Object.values(bindings),
}));
process.send?.({ url, masterKey, functions });
process.on("disconnect", () => process.exit());
// A host that is killed would leave nothing for the next one.
flushCompileCache();
