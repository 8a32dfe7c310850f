import { app } from "@azure/functions";
import { expect, it } from "vitest";
import { installFunctionsCore } from "../../../local/host/functions-core.ts";
import { startHost } from "../../../local/host/host.ts";
import { call } from "./http/raw-request.ts";

it("a host without functions responds 404", async () => {
  const host = await startHost(installFunctionsCore(), { port: 0, env: {} });
  expect((await call(host, "/api/anything")).status).toBe(404);
  expect(host.functions).toEqual([]);
  await host.stop();
});

it("refuses an app with streaming, because a handler that throws would hang", async () => {
  const core = installFunctionsCore();
  app.http("any", { handler: () => ({}) });
  app.setup({ enableHttpStream: true });
  await expect(startHost(core, { port: 0, env: {} })).rejects.toThrow("does not serve apps with enableHttpStream");
});
