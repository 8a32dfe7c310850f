/**
 * The process in which Azurite runs. azurite.ts starts it in the data directory with Azurite's own arguments. It stops Azurite
 * when the channel to its parent closes, also after a kill: Azurite writes its tables to disk only every five seconds, so it
 * needs time to close.
 */
import { createRequire } from "node:module";
import { decodeJsonBodies } from "./decode-json-bodies.ts";
import { lockDirectory } from "./directory-lock.ts";
import { rememberPositions, reportFailedSaves } from "./lokijs.ts";
import { leaveOutUnusedPackages } from "./unused-packages.ts";

/** Longer than a large database takes to write; only a connection that never ends exceeds it. */
const closingMs = 15_000;

/** Azurite handles messages and signals as soon as all its services respond. */
const serves = () => process.listenerCount("message") > 0;

const parentIsGone = () => {
  if (serves()) process.kill(process.pid, "SIGTERM");
  else process.exit();
};

// Azurite's own handler closes its services; this one lets the process end afterwards.
const stop = () => {
  if (!serves()) process.exit();
  process.off("disconnect", parentIsGone);
  if (process.connected) process.disconnect();
  setTimeout(() => process.exit(1), closingMs).unref();
};

// An ended parent does not read any more. That must not interrupt the closing.
for (const stream of [process.stdout, process.stderr]) stream.on("error", () => {});

if (!process.connected) process.exit();
process.once("disconnect", parentIsGone);
process.on("SIGTERM", stop);

try {
  if (!process.argv.includes("--inMemoryPersistence")) await lockDirectory("azurite.lock");
  const require = createRequire(import.meta.url);
  // The package's published command; it reads `process.argv`.
  const command = require.resolve("azurite/dist/src/azurite.js");
  leaveOutUnusedPackages(command);
  decodeJsonBodies();
  const loki = createRequire(command)("lokijs").prototype;
  rememberPositions(loki);
  reportFailedSaves(loki, text => console.error(text));
  require(command);
} catch (error) {
  console.error(error instanceof Error ? error.message : error);
  process.exit(1);
}
