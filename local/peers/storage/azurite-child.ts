/**
 * The process in which Azurite runs, started by azurite.ts in its data directory with Azurite's own arguments. It ends by
 * itself when the channel to its parent closes, whatever the parent died of: Azurite writes its tables to disk only every
 * five seconds, so it must be given the time to close even then.
 */
import { createRequire } from "node:module";
import { lockDirectory } from "./directory-lock.ts";

/** Longer than a large database takes to write; only a connection that never ends lasts as long. */
const closingMs = 15_000;

/** Azurite listens for messages and signals from the moment all its services answer. */
const serves = () => process.listenerCount("message") > 0;

const parentIsGone = () => {
  if (serves()) process.kill(process.pid, "SIGTERM");
  else process.exit();
};

// Azurite has a handler of its own, which closes its services; what remains is to let the process end after it.
const toldToStop = () => {
  if (!serves()) process.exit();
  process.off("disconnect", parentIsGone);
  if (process.connected) process.disconnect();
  setTimeout(() => process.exit(1), closingMs).unref();
};

// A dead parent reads no more; that must not end the closing.
for (const stream of [process.stdout, process.stderr]) stream.on("error", () => {});

if (!process.connected) process.exit();
process.once("disconnect", parentIsGone);
process.on("SIGTERM", toldToStop);

try {
  if (!process.argv.includes("--inMemoryPersistence")) await lockDirectory("azurite.lock");
  // The package's published command; it reads `process.argv`.
  createRequire(import.meta.url)("azurite/dist/src/azurite.js");
} catch (error) {
  console.error(error instanceof Error ? error.message : error);
  process.exit(1);
}
