// What test/host/behaviour/ does not compare with Azure's host.
import { app } from "@azure/functions";
import { afterEach, beforeAll, expect, it } from "vitest";
import { type HostOptions, type LocalHost, startHost } from "../../../local/host/host.ts";
import { functionsCoreOfFile } from "../../support/host/functions-core-of-file.ts";
import { call } from "./http/raw-request.ts";

const core = functionsCoreOfFile();
let fired: () => void = () => {};
let host: LocalHost;

const start = async (options: Partial<HostOptions> = {}) => {
  host = await startHost(core, {
    port: 0,
    masterKey: "Master-key",
    functionKeys: { "with-key": ["Function-key"] },
    env: {},
    ...options,
  });
};

beforeAll(() => {
  app.http("with-key", { authLevel: "function", handler: () => ({}) });
  app.http("other-key", { authLevel: "function", handler: () => ({}) });
  app.http("for-admin", { authLevel: "admin", handler: () => ({}) });
  app.timer("Tick", { schedule: "0 0 0 1 1 *", handler: () => fired() });
});
afterEach(() => host.stop());

const status = async (path: string, key?: string) =>
  (await call(host, path, { headers: key === undefined ? {} : { "x-functions-key": key } })).status;

it("accepts the key of a function for this function only", async () => {
  await start();
  expect(await status("/api/with-key", "Function-key")).toBe(200);
  expect(await status("/api/other-key", "Function-key")).toBe(401);
  expect(await status("/api/for-admin", "Function-key")).toBe(401);
});

it("requires no key if keys are not enforced", async () => {
  await start({ enforceKeys: false });
  expect(await status("/api/for-admin")).toBe(200);
});

it("starts a disabled timer through the admin endpoint", async () => {
  await start({ env: { "AzureWebJobs.Tick.Disabled": "true" } });
  const done = new Promise<void>(resolve => {
    fired = resolve;
  });
  const headers = { "x-functions-key": "Master-key", "content-type": "application/json" };
  expect((await call(host, "/admin/functions/Tick", { method: "POST", headers, body: "{}" })).status).toBe(202);
  await done;
});
