import { chmodSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, test } from "vitest";
import { findAzureHost } from "../../local/azure-host/find-azure-host.ts";
import { azureHostKeys, startAzureHost } from "../../local/azure-host/start-azure-host.ts";
import { describeOnAzureHost } from "../support/host/azure-host.ts";
import { atEndOfFile } from "../support/run/end-of-file.ts";
import { freshStorage } from "../support/storage/fresh-storage.ts";
import { packagedTable } from "./behaviour/packaged-table.ts";
import { tableSettings } from "./behaviour/rows.ts";

/**
 * Writes a program that takes the arguments of `func start` and nothing else, the app from the current folder, and settings, keys and
 * Node from the environment, as Core Tools do. It starts the host by its script, and passes a SIGINT on.
 */
function writeFunc(folder: string, script: string): void {
  const program = `#!/bin/sh
[ "$1 $2 $4 $5 $#" = "start --port --enableAuth --no-build 5" ] || { echo "unknown: $*"; exit 64; }
folder=$(dirname "$FUNCTIONS_SECRETS_PATH")
trap 'kill -INT "$(cat "$folder/host.pid")"' INT
env -0 | NODE=$languageWorkers__node__defaultExecutablePath xargs -0 "${script}" "$folder" "$3" "$PWD" &
while ! [ -s "$folder/host.pid" ]; do sleep 0.1; done
while kill -0 "$(cat "$folder/host.pid")" 2>/dev/null; do sleep 0.1; done
`;
  writeFileSync(join(folder, "func"), program);
  chmodSync(join(folder, "func"), 0o755);
}

const atHand = findAzureHost(process.env, process.cwd());

describeOnAzureHost("func on the PATH", () => {
  // With Core Tools at hand the other tests run through them.
  test.skipIf(atHand?.kind === "func")(
    "is found, starts the app with its settings and keys, and is stopped",
    async () => {
      const folder = mkdtempSync(join(tmpdir(), "func-"));
      const hostFolder = join(folder, "host");
      atEndOfFile(async () => {
        try {
          process.kill(Number(readFileSync(join(hostFolder, "host.pid"), "utf8")), "SIGKILL");
        } catch {
          // It is gone already.
        }
        rmSync(folder, { recursive: true, force: true });
      });
      mkdirSync(hostFolder);
      writeFunc(folder, atHand?.path ?? "");
      const found = findAzureHost({ PATH: ["/nowhere", folder].join(":") }, join(folder, "project"));
      expect(found).toEqual({ kind: "func", path: join(folder, "func") });
      if (found === undefined) return;

      const settings = { ...tableSettings, AzureWebJobsStorage: freshStorage().connectionString };
      const host = await startAzureHost(found, { app: await packagedTable(), folder: hostFolder, settings });
      const status = async (path: string, key: string) =>
        (await fetch(host.url + path, { headers: { "x-functions-key": key } })).status;
      expect(await status("/on", "")).toBe(200);
      expect(await status("/off", "")).toBe(404);
      expect(await status("/with-key", "another")).toBe(401);
      expect(await status("/with-key", azureHostKeys.master)).toBe(200);
      expect(host.log()).toContain("Job host started");
      await host.stop();
      await expect(fetch(host.url)).rejects.toThrow();
    },
  );
});
