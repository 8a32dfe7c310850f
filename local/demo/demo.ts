// Development tool: plays the life of three security keys and a sign-in, on a system of its own, which is removed at the end.

import { readArguments } from "../../commands/read-arguments.ts";
import { raceAbort } from "../../lib/platform/async.ts";
import { createNarrator } from "./print.ts";
import { type LaunchedSystem, launchSystem } from "./system.ts";

const maxMs = 55_000;

const command = {
  name: "npm run demo",
  help: `Plays four stories on a system of its own, in memory and on free ports:
a security key from the order to the PIN email, its parcel that is lost and the key that replaces it,
a security key that is programmed on site, and a person who signs in with password and OTP, whose OTP is replayed
and whose key is lost.

Usage: npm run demo`,
  options: {},
} as const;

const started = performance.now();
const interrupted = new AbortController();
for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"] as const) process.on(signal, () => interrupted.abort());
process.on("disconnect", () => interrupted.abort());

process.exit(await main());

async function main(): Promise<number> {
  try {
    return readArguments(command) === undefined ? 0 : await demo();
  } catch (error) {
    console.error(error instanceof Error ? error.message : error);
    return 2;
  }
}

async function demo(): Promise<number> {
  const narrator = createNarrator(text => process.stdout.write(text));
  let system: LaunchedSystem | undefined;
  try {
    system = launchSystem();
    // Not for the help, which would take a second.
    const { playStory } = await import("./story.ts");
    const end = AbortSignal.any([interrupted.signal, AbortSignal.timeout(maxMs)]);
    const ended = system.ended.then(() => Promise.reject(new Error("the system ended by itself.")));
    await raceAbort(Promise.race([playStory({ ready: system.ready, narrator, end }), ended]), end);
    await system.close();
    const seconds = ((performance.now() - started) / 1000).toFixed(1);
    narrator.paragraph(`Done in ${seconds} s. npm start keeps such a system running.`);
    return 0;
  } catch (error) {
    if (interrupted.signal.aborted) return 130;
    console.error(`\nThe demo failed: ${reasonOf(error)}`);
    if (system !== undefined) console.error(`\nThe last lines of the system's log:\n${system.log()}`);
    return 1;
  } finally {
    await system?.close();
  }
}

function reasonOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  if (error.name === "TimeoutError") return `it did not end within ${maxMs / 1000} s.`;
  return error.cause instanceof Error ? `${error.message} (${error.cause.message})` : error.message;
}
