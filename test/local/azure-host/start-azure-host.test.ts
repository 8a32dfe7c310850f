import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { startAzureHost } from "../../../local/azure-host/start-azure-host.ts";

const server = `require("node:http").createServer((_, response) => response.end('{"state":"Running"}')).listen(process.argv[1])`;

test("starts in a folder in which a host has run before, and ends no process of that time", async () => {
  const folder = mkdtempSync(join(tmpdir(), "start-host-"));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  const path = join(folder, "start.py");
  // Takes a while before it knows the process of the host.
  const script = `#!/bin/sh\nsleep 1\nsetsid '${process.execPath}' -e '${server.replaceAll("'", "'\\''")}' "$2" &\necho $! > "$1/host.pid"\nwait\n`;
  writeFileSync(path, script, { mode: 0o755 });
  writeFileSync(join(folder, "host.pid"), "999999999");
  const host = await startAzureHost({ kind: "script", path }, { app: folder, folder, settings: {} });
  expect(host.isRunning()).toBe(true);
  await host.kill();
  expect(host.isRunning()).toBe(false);
});
