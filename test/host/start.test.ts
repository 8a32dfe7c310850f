import { afterAll, beforeAll, expect, test } from "vitest";
import type { Facts } from "../../local/start/run-file.ts";
import { sampleRequest } from "../../local/start/sample-request.ts";
import { emptyDirectory, endAll, launchStart, listens, type StartProcess } from "../local/start/start-process.ts";
import { describeOnAzureHost } from "../support/host/azure-host.ts";
import { until } from "../support/until.ts";

describeOnAzureHost("npm start -- --host func", () => {
  let system: StartProcess;
  let facts: Facts;

  beforeAll(async () => {
    system = launchStart(["--ephemeral", "--host", "func"], {
      directory: emptyDirectory(),
      // A setting of the developer's own reaches the host.
      env: { FUNCTIONS_HOST: process.env.FUNCTIONS_HOST ?? "", RFPR_RETRY_NUMBER_DAYS: "6" },
    });
    facts = await system.ready();
  });
  afterAll(endAll);

  const call = (method: string, path: string, body?: object) =>
    fetch(facts.host + path, {
      method,
      headers: { authorization: `Bearer ${facts.tokens.connector}`, "content-type": "application/json" },
      ...(body && { body: JSON.stringify(body) }),
    });

  test("serves the system with its peers, the developer's settings, and the log of the app", async () => {
    expect(system.output()).toContain("Its log: ");
    expect(await (await call("GET", "/v2/status")).json()).toMatchObject({ RFPR_RETRY_NUMBER_DAYS: "6" });
    expect((await call("POST", "/v2/credential-requests", sampleRequest)).status).toBe(201);
    await until(() => /"event":"request_state".*"to":"started"|"state":"started"/.test(system.output()), system.output);
  });

  test("starts a timer with the master key of run.json", async () => {
    const headers = { "x-functions-key": facts.masterKey, "content-type": "application/json" };
    const answer = await fetch(`${facts.host}/admin/functions/dataCleanup`, { method: "POST", headers, body: "{}" });
    expect(answer.status).toBe(202);
    await until(() => /"event":"job".*"job":"dataCleanup"/.test(system.output()), system.output);
  });

  test("stops the host with the system", async () => {
    system.child.kill("SIGTERM");
    expect(await system.ended).toBe(0);
    expect(await listens({ host: "127.0.0.1", port: Number(new URL(facts.host).port) })).toBe(false);
  });
});
