import { app } from "@azure/functions";
import { afterEach, beforeAll, describe, expect, it } from "vitest";
import { type HostOptions, type LocalHost, startHost } from "../../../../local/host/host.ts";
import { functionsCoreOfFile } from "../../../support/host/functions-core-of-file.ts";
import { call } from "./raw-request.ts";

const core = functionsCoreOfFile();
const lines: string[] = [];
let host: LocalHost | undefined;

const start = async (options: Partial<HostOptions> = {}) => {
  lines.length = 0;
  host = await startHost(core, { port: 0, env: {}, log: (...line) => lines.push(line.join(" ")), ...options });
  return host;
};
const unprefixed = { extensions: { http: { routePrefix: "" } } };
const who = async (path: string, method = "GET") => {
  const { status, text } = await call(host ?? { port: 0 }, path, { method });
  return status === 200 ? text : status;
};

beforeAll(() => {
  const register = (name: string, route: string, methods: ("GET" | "PUT" | "POST")[] = ["GET"]) =>
    app.http(name, { route, methods, handler: (_, { functionName }) => ({ body: functionName }) });
  // The later in the order of names is registered first: the order of registration must not matter.
  register("ovB_literal", "users/delete");
  register("ovA_param", "users/{id}");
  register("owZ_param", "items/{id}");
  register("owA_literal", "items/delete");
  register("Zebra", "order/{x}");
  register("yak", "order/{y}");
  register("a_under", "mark/{x}");
  register("aZ", "mark/{y}");
  register("item_get", "item");
  register("item_put", "item", ["PUT"]);
  register("dupB", "DUP", ["GET", "POST"]);
  register("dupA", "dup", ["GET"]);
  register("built-in", "administration/x");
  register("built-in-2", "Runtime/x");
  register("discovery", ".well-known/openid-configuration");
  register("setting", "%MYROUTE%/x");
  register("top", "{x?}");
  app.storageQueue("queue", { queueName: "q", connection: "c", handler: () => {} });
});
afterEach(async () => {
  await host?.stop();
  host = undefined;
});

describe("functions whose routes overlap", () => {
  it("are tried in the order of their names, ignoring letter case, not by how specific they are", async () => {
    await start();
    expect(await who("/api/users/delete")).toBe("ovA_param");
    expect(await who("/api/items/delete")).toBe("owA_literal");
    expect(await who("/api/items/other")).toBe("owZ_param");
    expect(await who("/api/order/1")).toBe("yak");
    expect(await who("/api/mark/1")).toBe("aZ");
  });

  it("with one template are selected by method", async () => {
    await start();
    expect([await who("/api/item"), await who("/api/item", "PUT"), await who("/api/item", "POST")]).toEqual([
      "item_get",
      "item_put",
      404,
    ]);
  });

  it("with one template and a method in common: the later name is dropped and named in the log", async () => {
    const { functions } = await start();
    expect(await who("/api/dup")).toBe("dupA");
    expect(await who("/api/dup", "POST")).toBe(404);
    expect(functions).not.toContain("dupB");
    expect(lines).toContain(
      "error Host.Startup The 'dupB' function is in error: The route specified conflicts with the route defined by function 'dupA'.",
    );
  });
});

describe("a function that the host does not serve", () => {
  it("is one below the host's own routes, also behind a prefix", async () => {
    await start();
    expect(await who("/api/administration/x")).toBe(404);
    expect(await who("/api/runtime/x")).toBe(404);
    expect(lines.filter(line => line.includes("conflicts with one or more built in routes"))).toHaveLength(2);
  });

  it("is one with another trigger than HTTP or timer, which the log names", async () => {
    expect((await start()).functions).not.toContain("queue");
    expect(lines).toContain(
      "error Host.Startup The 'queue' function is in error: triggers of type queueTrigger are not served locally.",
    );
  });
});

describe("an empty route prefix", () => {
  it("puts routes at the root, which may be a function", async () => {
    await start({ hostJson: unprefixed });
    expect(await who("/.well-known/openid-configuration")).toBe("discovery");
    expect(await who("/")).toBe("top");
    expect(await who("/admin")).toBe("top");
    expect(await who("/api/item")).toBe(404);
  });

  it("does not replace settings in routes", async () => {
    await start({ hostJson: unprefixed, env: { MYROUTE: "resolved" } });
    expect(await who("/%MYROUTE%/x")).toBe("setting");
    expect(await who("/resolved/x")).toBe(404);
  });
});

describe("the root", () => {
  it("is 204 if the home page is disabled", async () => {
    await start({ env: { AzureWebJobsDisableHomepage: "true" } });
    expect((await call(host ?? { port: 0 }, "/")).status).toBe(204);
  });
});

describe("FUNCTIONS_REQUEST_BODY_SIZE_LIMIT", () => {
  it("is the longest body that a function gets: the response to a longer one is an empty 500", async () => {
    await start({ env: { FUNCTIONS_REQUEST_BODY_SIZE_LIMIT: "1000" } });
    const put = (length: number) => call(host ?? { port: 0 }, "/api/item", { method: "PUT", body: "x".repeat(length) });
    expect([(await put(1000)).status, (await put(1001)).status]).toEqual([200, 500]);
    expect((await put(1001)).text).toBe("");
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
