import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { type FakeCommands, fakeCommands } from "./fake-commands.ts";
import { type SimulatedSite, simulatedSite } from "./simulated-site.ts";

const { deployApp } = (await import("../../../infra/scripts/deploy-app.mjs" as string)) as {
  deployApp(az: (...words: readonly string[]) => unknown, options: object): Promise<void>;
};

const script = "infra/scripts/deploy-core.mjs";
const id = "/subscriptions/s/resourceGroups/rg-sample/providers/Microsoft.Web/sites/func-core-sample";
const times = { pauseMs: 1, callMs: 2000, healthMs: 20_000, deploymentMs: 1000 };

let commands: FakeCommands;
let site: SimulatedSite;
let file: string;
beforeEach(async () => {
  site = await simulatedSite();
  commands = fakeCommands({
    az: `#!/bin/sh
printf '%s\\n' "$*" >> "$directory/az.log"
case "$*" in
  "resource show"*) printf '%s' "$SITE" ;;
  "account get-access-token"*) printf '{"accessToken":"token-of-az"}' ;;
  "functionapp function list"*) printf '["func-core-sample/health"]' ;;
esac
`,
  });
  file = join(commands.directory, "package.zip");
  writeFileSync(file, "the package");
});
afterEach(() => commands.remove());

const shown = () => ({
  id,
  properties: {
    defaultHostName: site.host,
    hostNameSslStates: [
      { hostType: "Standard", name: "elsewhere" },
      { hostType: "Repository", name: site.host },
    ],
  },
});

const runScript = (...args: readonly string[]) =>
  commands.run(script, ["--resource-group", "rg-sample", "--name", "func-core-sample", ...args], {
    SITE: JSON.stringify(shown()),
  });

/** Deploys without starting a process, so that pauses are short. Returns what is told and the calls of az. */
async function deployed(lists: readonly (readonly string[] | undefined)[] = [["a/health"]], more = {}) {
  const told: string[] = [];
  const calls: string[] = [];
  const names = [...lists];
  const az = (...words: readonly string[]) => {
    const call = words.join(" ");
    calls.push(call);
    if (call.startsWith("resource show")) return shown();
    if (call.startsWith("account get-access-token")) return { accessToken: "token-of-az" };
    if (call.startsWith("functionapp function list")) return names.length > 1 ? names.shift() : names[0];
    return null;
  };
  const options = {
    group: "rg-sample",
    name: "func-core-sample",
    file,
    tell: (line: string) => told.push(line),
    times: { ...times, ...more },
  };
  await deployApp(az, options);
  return { told: told.join("\n"), calls };
}

describe("deploy-core.mjs", () => {
  it("publishes the package to the deployment site with a token, without a build in Azure", async () => {
    site.polls = [{ status: 0, progress: "Preparing" }, { status: 4 }];
    const output = await runScript("--package", file);
    expect(output).toMatch(
      /Uploaded .*\nPreparing\nDeployed .*\nfunc-core-sample is healthy.\nAzure knows 1 functions/,
    );
    expect(site.packages).toEqual([
      { bytes: Buffer.from("the package"), authorization: "Bearer token-of-az", type: "application/zip" },
    ]);
    expect(site.calls[0]).toBe("POST /api/publish?RemoteBuild=false");
    const calls = readFileSync(join(commands.directory, "az.log"), "utf8");
    expect(calls).not.toContain("config-zip");
    expect(calls).not.toContain("token-of-az");
  });

  it("explains itself where something is missing", async () => {
    await expect(runScript("--package", "none.zip")).rejects.toThrow("There is no none.zip");
    expect(await commands.run(script, ["--help"])).toContain("CORE_APP_NAME");
    await expect(
      commands.run(script, ["--resource-group", "g", "--name", "n", "--package", file], { SITE: "" }),
    ).rejects.toThrow("The app n was not found in g");
  });

  it.each([
    [3, "the reason", "The deployment failed. the reason"],
    [3, "403 (AuthorizationPermissionMismatch)", "takes up to 30 minutes to become effective"],
    [-1, "", "The deployment was cancelled"],
    [5, "", "another deployment is running: repeat it"],
    [6, "", "succeeded in parts only"],
  ])("fails if the deployment ends with status %i %s", async (status, reason, message) => {
    site.polls = [{ status: 1 }, { status, status_text: reason }];
    await expect(deployed()).rejects.toThrow(message);
    expect(site.calls.filter(call => call.includes("health"))).toEqual([]);
  });

  it.each<readonly [string, Partial<Pick<SimulatedSite, "polls" | "uploads" | "health">>, string]>([
    ["waits through a restart of the deployment site", { polls: [404, 503, { status: 2 }, 502, 404] }, "is healthy"],
    ["waits while an address that was admitted just now is still refused", { uploads: [403, 403] }, "is healthy"],
    ["uploads again after a failure that passes", { uploads: [503, 409] }, "is healthy"],
    ["waits for the start of the app", { health: [503, 503, 200] }, "is healthy"],
    ["takes a health that cannot be read for no failure", { health: [403] }, "read from this machine, so it was not"],
  ])("%s", async (_, answers, told) => {
    Object.assign(site, answers);
    expect((await deployed()).told).toContain(told);
    expect(site.packages).toHaveLength(1);
  });

  it("fails with the places from which the deployment site can be reached, if it refuses this machine", async () => {
    site.uploads = [403];
    await expect(deployed(undefined, { refusedMs: 0 })).rejects.toThrow("CORE_DEPLOY_RANGE");
    site.uploads = [401];
    await expect(deployed()).rejects.toThrow("az login");
    site.uploads = [503, 503, 503, 503];
    await expect(deployed()).rejects.toThrow("The deployment site returns 503");
    expect(site.packages).toEqual([]);
  });

  it("ends if the deployment does not, and says that the command may be repeated", async () => {
    site.polls = [{ status: 1 }];
    await expect(deployed()).rejects.toThrow(/did not end within .* repeat this command/);
  });

  it("fails if the app is not healthy in time", async () => {
    site.health = [503];
    await expect(deployed(undefined, { healthMs: 50 })).rejects.toThrow(
      /has the package, but GET .*\/health returns 503/,
    );
  });

  it("synchronises the triggers if Azure knows none, without which no timer runs", async () => {
    const { told, calls } = await deployed([[], ["func-core-sample/WarmUp"], ["a/health", "a/backUp"]]);
    expect(told).toContain("Azure knows 2 functions");
    expect(calls.filter(call => call.includes("host/default/sync"))).toEqual(
      Array(2).fill(`rest --method post --url ${id}/host/default/sync?api-version=2025-03-01`),
    );
  });

  it("only reports that the triggers are not known or cannot be read", async () => {
    expect((await deployed([[]])).told).toContain("its timers do not run");
    expect((await deployed([undefined])).told).toContain("Not checked");
  });
});
