import { app } from "@azure/functions";
import { afterEach, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { type HostOptions, type LocalHost, startHost } from "../../../local/host/host.ts";
import { functionsCoreOfFile } from "../../support/host/functions-core-of-file.ts";
import { call } from "./http/raw-request.ts";

const core = functionsCoreOfFile();
const bodies: string[] = [];
let ticks = 0;
let fired: () => void = () => {};
let host: LocalHost;

const start = async (options: Partial<HostOptions> = {}) => {
  host = await startHost(core, {
    port: 0,
    masterKey: "Master-key",
    hostKeys: ["Host-key"],
    functionKeys: { "with-key": ["Function-key"] },
    env: {},
    ...options,
  });
};

beforeAll(() => {
  const handler = ({ headers, query }: { headers: Headers; query: URLSearchParams }) => ({
    jsonBody: [headers.get("x-functions-key"), query.get("code")],
  });
  app.http("open", { handler });
  app.http("with-key", { authLevel: "function", handler });
  app.http("other-key", { authLevel: "function", handler });
  app.http("for-admin", { authLevel: "admin", handler });
  app.http("body", {
    methods: ["POST"],
    handler: async request => {
      bodies.push(await request.text());
      fired();
      return {};
    },
  });
  app.timer("Tick", {
    schedule: "0 0 0 1 1 *",
    handler: () => {
      ticks++;
      fired();
    },
  });
});
beforeEach(() => start());
afterEach(() => host.stop());

const status = async (path: string, headers: Record<string, string | string[]> = {}) =>
  (await call(host, path, { headers })).status;
const withKey = (key: string) => ({ "x-functions-key": key });

describe("a function with a key", () => {
  it("is 401 without a valid one, with an empty body", async () => {
    for (const headers of [{}, withKey("bad"), withKey("")]) {
      const answer = await call(host, "/api/with-key", { headers });
      expect([answer.status, answer.bytes.length, answer.headers["www-authenticate"]]).toEqual([401, 0, undefined]);
    }
  });

  it("opens by host, function or master key, in the header or the query, and sees it", async () => {
    for (const key of ["Host-key", "Function-key", "Master-key"]) {
      expect((await call(host, "/api/with-key", { headers: withKey(key) })).text).toBe(JSON.stringify([key, null]));
      expect((await call(host, `/api/with-key?CODE=${key}`)).status).toBe(200);
    }
    expect((await call(host, "/api/with-key?code=Host-key")).text).toBe('[null,"Host-key"]');
    expect(await status("/api/other-key", withKey("Function-key"))).toBe(401);
  });

  it("uses only the header if there is one", async () => {
    for (const key of ["bad", ""]) expect(await status("/api/with-key?code=Host-key", withKey(key))).toBe(401);
  });

  it("uses the first of two", async () => {
    expect(await status("/api/with-key?code=bad&code=Host-key")).toBe(401);
    expect(await status("/api/with-key?code=Host-key&code=bad")).toBe(200);
    expect(await status("/api/with-key", { "x-functions-key": ["bad", "Host-key"] })).toBe(401);
    expect(await status("/api/with-key", { "x-functions-key": ["Host-key", "bad"] })).toBe(200);
  });

  it("accepts another letter case after the right one was used", async () => {
    expect(await status("/api/with-key", withKey("HOST-KEY"))).toBe(401);
    expect(await status("/api/with-key", withKey("Host-key"))).toBe(200);
    expect(await status("/api/with-key", withKey("HOST-KEY"))).toBe(200);
    expect(await status("/api/other-key", withKey("HOST-KEY"))).toBe(401);
  });

  it("of the admin level requires the master key", async () => {
    for (const key of ["Host-key", "Function-key"]) expect(await status("/api/for-admin", withKey(key))).toBe(401);
    expect(await status("/api/for-admin", withKey("Master-key"))).toBe(200);
  });

  it("is open if keys are not enforced, and always without a level", async () => {
    expect(await status("/api/open")).toBe(200);
    await host.stop();
    await start({ enforceKeys: false });
    expect(await status("/api/for-admin")).toBe(200);
  });
});

describe("starting a function through the admin endpoint", () => {
  const invoke = (name: string, options: { key?: string; type?: string; body?: string } = {}) => {
    const { key = "Master-key", type = "application/json", body = "{}" } = options;
    const headers = { ...(key && withKey(key)), ...(type && { "content-type": type }) };
    return call(host, `/admin/functions/${name}`, { method: "POST", headers, body });
  };
  const firing = () =>
    new Promise<void>(resolve => {
      fired = resolve;
    });

  it("is 202 and empty at once, the name in any letter case; a disabled one starts too", async () => {
    await host.stop();
    await start({ env: { "AzureWebJobs.Tick.Disabled": "true" } });
    const before = ticks;
    const done = firing();
    const answer = await invoke("tICK");
    expect([answer.status, answer.bytes.length]).toEqual([202, 0]);
    await done;
    expect(ticks).toBe(before + 1);
  });

  it("passes the input to an HTTP function as its body", async () => {
    for (const [body, expected] of [
      ['{"input":"text"}', "text"],
      ['{"input":{"a":1}}', '{"a":1}'],
      ["{}", ""],
    ] as const) {
      const done = firing();
      expect((await invoke("body", { body })).status).toBe(202);
      await done;
      expect(bodies.at(-1)).toBe(expected);
    }
  });

  it("is refused for its first fault", async () => {
    const before = ticks;
    const none = await invoke("Tick", { key: "" });
    expect([none.status, none.headers["www-authenticate"]]).toEqual([401, ["Bearer"]]);
    expect((await invoke("Tick", { key: "bad" })).status).toBe(401);
    expect((await invoke("Tick", { key: "Host-key" })).status).toBe(403);
    expect((await invoke("Tick", { type: "" })).status).toBe(415);
    expect((await invoke("Tick", { type: "text/plain" })).status).toBe(415);
    for (const body of ["", "{", "null", "[]", '"x"']) expect((await invoke("Tick", { body })).status).toBe(400);
    expect((await invoke("Unknown")).status).toBe(404);
    expect(ticks).toBe(before);
  });
});

describe("the host's own endpoints", () => {
  it("return the status to a caller with the master key", async () => {
    for (const answer of [
      await call(host, "/admin/host/status", { headers: withKey("Master-key") }),
      await call(host, "/admin/host/status?code=Master-key"),
    ]) {
      expect(JSON.parse(answer.text)).toMatchObject({
        state: "Running",
        version: "4.1037.0.0",
        id: expect.any(String),
      });
    }
    expect(await status("/admin/host/status")).toBe(401);
  });

  it("respond to a ping without a key", async () => {
    for (const method of ["GET", "POST"]) {
      const answer = await call(host, "/admin/host/ping", { method });
      expect([answer.status, answer.headers["cache-control"]]).toEqual([200, ["no-store,no-cache"]]);
    }
  });

  it("are 404 if they do not exist", async () => {
    expect(await status("/admin/nothing", withKey("Master-key"))).toBe(404);
  });
});
