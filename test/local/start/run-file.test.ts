import { existsSync, readdirSync, writeFileSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { afterAll, expect, test } from "vitest";
import { type Facts, readFacts, removeFacts, removeStaleFacts, writeFacts } from "../../../local/start/run-file.ts";
import { emptyDirectory, endAll, launchStart } from "./start-process.ts";

const facts = (pid: number, host = "http://127.0.0.1:9"): Facts => ({
  host,
  tokens: { core: "c", connector: "d" },
  secrets: { eventSinks: [] },
  storage: "s",
  peers: { mail: "m" },
  pid,
  masterKey: "k",
});

afterAll(endAll);

test("facts are written whole, read again, and removed", async () => {
  const directory = emptyDirectory();
  const path = await writeFacts(directory, facts(process.pid));
  expect(path).toBe(join(directory, "run.json"));
  expect(readdirSync(directory)).toEqual(["run.json"]);
  expect(readFacts(directory)).toEqual(facts(process.pid));
  removeFacts(path);
  expect(readFacts(directory)).toBeUndefined();
});

test("the facts of a running system are not replaced", async () => {
  const answering = createServer((_, response) => response.end());
  await new Promise<void>(resolve => answering.listen(0, "127.0.0.1", resolve));
  const directory = emptyDirectory();
  const running = facts(process.ppid, `http://127.0.0.1:${(answering.address() as AddressInfo).port}`);
  await writeFacts(directory, running);
  const path = await writeFacts(directory, facts(process.pid));
  expect(path).toBe(join(directory, `run.${process.pid}.json`));
  await removeStaleFacts(directory);
  expect(readFacts(directory)).toEqual(running);
  answering.close();
  answering.closeAllConnections();
});

test("the facts of a killed system are replaced, also if another process has its process id", async () => {
  const directory = emptyDirectory();
  await writeFacts(directory, facts(process.ppid));
  expect(await writeFacts(directory, facts(process.pid))).toBe(join(directory, "run.json"));
  expect(readFacts(directory)?.pid).toBe(process.pid);
});

test("the next start removes the facts of a killed system at once", async () => {
  const directory = emptyDirectory();
  await removeStaleFacts(directory);
  await writeFacts(directory, facts(process.ppid));
  await removeStaleFacts(directory);
  expect(existsSync(join(directory, "run.json"))).toBe(false);
});

test("a refused start removes the facts of a killed system before it checks its port", async () => {
  const taken = createServer();
  await new Promise<void>(resolve => taken.listen(0, "127.0.0.1", resolve));
  const directory = emptyDirectory();
  await writeFacts(directory, facts(process.ppid));
  const start = launchStart([], { directory, env: { PORT: String((taken.address() as AddressInfo).port) } });
  expect(await start.ended).toBe(1);
  expect(existsSync(join(directory, "run.json"))).toBe(false);
  taken.close();
});

test("a file without facts counts as none", () => {
  const directory = emptyDirectory();
  writeFileSync(join(directory, "run.json"), "{");
  expect(readFacts(directory)).toBeUndefined();
  expect(existsSync(join(directory, "run.json"))).toBe(true);
});
