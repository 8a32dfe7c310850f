import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { client, core } from "../../functions/auth/routes.ts";
import { connector } from "../../functions/connector/routes.ts";
import { type RouteParts, routeParts } from "../../lib/platform/http/api.ts";
import type { Route } from "../../lib/platform/http/endpoint.ts";
import { deploymentSettings } from "../../lib/platform/settings/deployment-settings.ts";
import { BadSettings, readSettings } from "../../lib/platform/settings/read-settings.ts";
import { goodSettings, type MainProcess, startMain } from "./main-process.ts";
import { routesOverlap } from "./routes-overlap.ts";

/** Where a deployment may place its APIs: as the specifications have them, and all under one roof. */
const placements: Readonly<Record<string, Readonly<Record<string, string>>>> = {
  default: {},
  moved: { CORE_PATH: "a/core", CLIENT_PATH: "a/client", CONNECTOR_PATH: "a/connector" },
};

describe.each(Object.entries(placements))("all functions of all APIs, %s paths", (_, paths) => {
  let main: MainProcess;
  let routes: readonly (RouteParts & { readonly name: string })[];

  beforeAll(async () => {
    main = await startMain({ ...goodSettings, ...paths });
    routes = main.functions.flatMap(({ name, bindings }) =>
      bindings
        .filter(({ type }) => type === "httpTrigger")
        .flatMap(({ route: template = "", methods = [] }) => methods.map(method => ({ name, method, template }))),
    );
  });
  afterAll(() => main.end());

  it("have routes of which no two overlap: the host would choose by name", () => {
    expect(routes.length).toBeGreaterThan(5);
    const pairs = routes.flatMap((one, index) =>
      routes
        .slice(index + 1)
        .filter(other => routesOverlap(one, other))
        .map(other => [one, other]),
    );
    expect(pairs).toEqual([]);
  });

  it("have names that differ also in lower case, because the host ignores case", () => {
    const names = main.functions.map(({ name }) => name);
    expect(new Set(names.map(name => name.toLowerCase())).size).toBe(names.length);
    for (const name of names) expect(name).toMatch(/^[A-Za-z][A-Za-z0-9_-]{0,126}$/);
  });

  it("leave to the host what is the host's", () => {
    for (const { template, name } of routes) {
      expect(["admin", "runtime", "api", ""], name).not.toContain(template.split("/")[0]?.toLowerCase());
    }
  });

  it("lie where the settings place them, but for /health", () => {
    const { CONNECTOR_PATH = "" } = paths;
    const status = routes.find(({ name }) => name === "v2GetStatus");
    expect(status?.template).toBe([CONNECTOR_PATH, "v2/status"].filter(part => part !== "").join("/"));
    expect(routes.find(({ name }) => name === "health")?.template).toBe("health");
  });
});

describe("an API without a path prefix", () => {
  const apis = { core, client, connector };
  const names = ["core", "client", "connector"] as const;
  const routesOf = (api: (typeof names)[number], prefix: string) =>
    Object.values(apis[api].endpoints).flatMap(({ routes }) => routes.map((route: Route) => routeParts(route, prefix)));
  const setting = (api: string) => `${api.toUpperCase()}_PATH`;

  it.each(names)("leaves no room for others below its own routes: %s", root => {
    const isRefused = (other: string, path: string) => {
      try {
        const paths = { [setting(root)]: "/", [setting(other)]: path };
        readSettings(deploymentSettings, { ...goodSettings, SERVICE_APIS: `${root},${other}`, ...paths });
        return false;
      } catch (error) {
        if (!(error instanceof BadSettings)) throw error;
        return error.problems.some(problem => problem.path === setting(other));
      }
    };
    const own = routesOf(root, "");
    const segments = [...new Set(own.map(({ template }) => template.split("/")[0] ?? "")), "elsewhere"];
    const paths = segments.flatMap(segment => [segment, `${segment}/x`, `${segment.toUpperCase()}/x/y`]);
    for (const other of names.filter(name => name !== root)) {
      const overlapping = paths.filter(path =>
        routesOf(other, path).some(one => own.some(another => routesOverlap(one, another))),
      );
      expect(overlapping.filter(path => !isRefused(other, path))).toEqual([]);
      expect(isRefused(other, "elsewhere")).toBe(false);
    }
  });
});
