import { fork } from "node:child_process";
import { once } from "node:events";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { deployed, settingsOnceDeployed } from "../../infra/templates.ts";
import { builtPackage } from "../../support/host/built-package.ts";
import { compileCache } from "../../support/host/compile-cache.ts";
import { type Collector, startCollector } from "../../support/host/telemetry-collector.ts";

let collector: Collector;
beforeAll(async () => {
  collector = await startCollector();
});
afterAll(() => collector.close());

describe("an instance that the platform removes by SIGTERM", () => {
  it("sends what it has not sent yet, and ends without an error", async () => {
    const child = fork("local/package/serve.ts", [await builtPackage()], {
      env: {
        PATH: process.env.PATH,
        ...compileCache,
        ...settingsOnceDeployed(deployed(), "client"),
        APPLICATIONINSIGHTS_CONNECTION_STRING: collector.connectionString,
        APPLICATIONINSIGHTS_AUTHENTICATION_STRING: "",
        APPLICATION_INSIGHTS_NO_STATSBEAT: "1",
      },
      execArgv: ["--disable-warning=ExperimentalWarning"],
      stdio: ["ignore", "ignore", "inherit", "ipc"],
    });
    const ended = once(child, "exit");
    await Promise.race([once(child, "message"), ended]);
    child.kill("SIGTERM");
    expect(await ended).toEqual([0, null]);
    expect(collector.received.map(({ text }) => text).join("\n")).toContain('"message":"stopped"');
  });
});
