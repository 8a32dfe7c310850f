// What test/host/behaviour/ does not compare with Azure's host: other settings, prefixes and log lines.
import { app } from "@azure/functions";
import { afterEach, beforeAll, describe, expect, it } from "vitest";
import { type HostOptions, type LocalHost, startHost } from "../../../../local/host/host.ts";
import { defaultBodyLimit } from "../../../../local/host/http/request.ts";
import { functionsCoreOfFile } from "../../../support/host/functions-core-of-file.ts";
import { call, exchange } from "./raw-request.ts";

const core = functionsCoreOfFile();
const lines: string[] = [];
let host: LocalHost | undefined;

const start = async (options: Partial<HostOptions> = {}) => {
  lines.length = 0;
  host = await startHost(core, { port: 0, env: {}, log: (...line) => lines.push(line.join(" ")), ...options });
  return host;
};
const who = async (path: string, method = "GET") => {
  const { status, text } = await call(host ?? { port: 0 }, path, { method });
  return status === 200 ? text : status;
};

beforeAll(() => {
  const register = (name: string, route: string, methods: ("GET" | "PUT" | "POST")[] = ["GET"]) =>
    app.http(name, { route, methods, handler: (_, { functionName }) => ({ body: functionName }) });
  register("item_get", "item");
  register("item_put", "item", ["PUT"]);
  register("dupB", "DUP", ["GET", "POST"]);
  register("dupA", "dup", ["GET"]);
  register("built-in", "administration/x");
  register("top", "{x?}");
  app.http("throws", {
    route: "a/throws",
    handler: () => {
      throw new Error("a secret of the handler");
    },
  });
  app.storageQueue("queue", { queueName: "q", connection: "c", handler: () => {} });
});
afterEach(async () => {
  await host?.stop();
  host = undefined;
});

describe("a function that the host does not serve", () => {
  it("is named in the log if its route is another function's, or the host's own", async () => {
    const { functions } = await start();
    expect(functions).not.toContain("dupB");
    expect(await who("/api/administration/x")).toBe(404);
    expect(lines.filter(line => line.startsWith("error"))).toEqual([
      "error Host.Startup The 'built-in' function is in error: The specified route conflicts with one or more built in routes.",
      "error Host.Startup The 'dupB' function is in error: The route specified conflicts with the route defined by function 'dupA'.",
      "error Host.Startup The 'queue' function is in error: triggers of type queueTrigger are not served locally.",
    ]);
  });
});

describe("the route prefix", () => {
  it("is api by default", async () => {
    await start();
    expect([await who("/api/item"), await who("/item"), await who("/api//item")]).toEqual(["item_get", 404, 404]);
  });

  it("puts routes at the root if it is empty, so that the root may be a function", async () => {
    await start({ hostJson: { extensions: { http: { routePrefix: "" } } } });
    expect([await who("/"), await who("/admin"), await who("/api/item")]).toEqual(["top", "top", 404]);
  });
});

describe("the root", () => {
  it("gives a page of the host when no function has it", async () => {
    await start();
    expect(await who("/")).toContain("up and running");
    expect(await who("/", "POST")).toContain("up and running");
  });
});

describe("a request", () => {
  it("is 500 if its length is more than 100 MiB and no setting says otherwise", async () => {
    const length = `Content-Length: ${defaultBodyLimit + 1}`;
    const answer = await exchange(await start(), `PUT /api/item HTTP/1.1\r\nHost: h\r\n${length}\r\n\r\n`);
    expect(answer).toMatch(/^HTTP\/1.1 500 /);
  });

  it("is 431 if its headers are much too long, on a connection that is closed and not reset", async () => {
    const answer = await exchange(
      await start(),
      `GET /api/item HTTP/1.1\r\nHost: h\r\nX: ${"x".repeat(1_000_000)}\r\n\r\n`,
    );
    expect(answer).toMatch(/^HTTP\/1.1 431 /);
  });

  it("whose function throws is logged with the error", async () => {
    await start();
    expect(await who("/api/a/throws")).toBe(500);
    expect(lines.join("\n")).toMatch(
      /error Function\.throws Executed 'Functions\.throws' \(Failed.*a secret of the handler/,
    );
  });
});

describe("a disabled function", () => {
  it.each(["AzureWebJobs.item_get.Disabled", "AzureWebJobs_item_get_Disabled", "azurewebjobs.ITEM_GET.disabled"])(
    "is 404 by %s",
    async name => {
      const { functions } = await start({ env: { [name]: "true" } });
      expect([await who("/api/item"), await who("/api/item", "PUT")]).toEqual([404, "item_put"]);
      expect(functions).toContain("item_get");
      await host?.stop();
      await start({ env: { [name]: "1" } });
      expect(await who("/api/item")).toBe(404);
      await host?.stop();
      await start({ env: { [name]: "false" } });
      expect(await who("/api/item")).toBe("item_get");
    },
  );

  it("is not one by the form with two underscores", async () => {
    await start({ env: { AzureWebJobs__item_get__Disabled: "true" } });
    expect(await who("/api/item")).toBe("item_get");
  });
});

describe("an invalid route", () => {
  it("prevents the start of the whole host", async () => {
    const lead = core.functions.size;
    app.http("lead", { route: "/lead/slash", handler: () => ({}) });
    expect(core.functions.size).toBe(lead + 1);
    await expect(start()).rejects.toThrow(
      `The host cannot start: function 'lead': the route "/lead/slash" begins with a slash.`,
    );
  });
});
