import { readFileSync } from "node:fs";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { start } from "../../functions/start.ts";
import { type LocalHost, startHost } from "../../local/host/host.ts";
import { audience, closePeers, type Peers, startPeers } from "../../local/peers/all.ts";
import { describeSystem } from "../../local/start/system.ts";
import type { Tokens } from "../../local/start/tokens.ts";
import { consoleEvents } from "../support/host/console-events.ts";
import { functionsCoreOfFile } from "../support/host/functions-core-of-file.ts";
import { freshStorage } from "../support/storage/fresh-storage.ts";

const core = functionsCoreOfFile();
let peers: Peers;
let host: LocalHost;
let tokens: Tokens;
const events = consoleEvents();

/** A way into a service, as it was registered with the host. */
interface Registered {
  readonly method: string;
  /** The template with a value in place of each parameter. */
  readonly path: string;
  readonly template: string;
  readonly authLevel: string;
}

interface HttpBinding {
  readonly route?: string;
  readonly methods?: readonly string[];
  readonly authLevel?: string;
}

const registered = (): readonly Registered[] =>
  [...core.functions.values()].flatMap(({ metadata }) =>
    Object.values(metadata.bindings).flatMap(binding => {
      if (binding.type !== "httpTrigger") return [];
      const { route: template = "", methods = [], authLevel = "" } = binding as HttpBinding;
      const path = template.replace(/\{\w+\}/g, "1");
      return methods.map(method => ({ method, path, template, authLevel }));
    }),
  );

const apiOf = ({ template, authLevel }: Registered): "core" | "client" | "connector" | "task" | "health" => {
  if (authLevel === "admin") return "task";
  const [first] = template.split("/");
  return first === "core" || first === "client" || first === "health" ? first : "connector";
};

const ofApi = (...apis: readonly string[]) => registered().filter(each => apis.includes(apiOf(each)));

let calls = 0;

/** Calls a route and returns the status and the events of this call alone. */
async function called({ method, path }: Registered, headers: Readonly<Record<string, string>> = {}) {
  const requestId = `call-${++calls}`;
  const { status } = await fetch(`${host.url}/${path}`, { method, headers: { "x-request-id": requestId, ...headers } });
  return { status, requestId, logged: events.filter(event => event.requestId === requestId) };
}

const bearing = (token: string) => ({ authorization: `Bearer ${token}` });
const application = "the-application";
const subject = "the-subject";
const mint = (roles: readonly string[]) =>
  peers.issuer.mint({ audience, roles: [...roles], azp: application, subject });

beforeAll(async () => {
  const storage = freshStorage();
  peers = await startPeers();
  const described = await describeSystem(storage, peers);
  tokens = described.tokens;
  const env = { ...described.settings, LOGGING_LEVEL_COM_SERVICE: "INFO" };
  await start(env);
  const hostJson = JSON.parse(readFileSync("host.json", "utf8"));
  host = await startHost(core, { port: 0, hostJson, timers: false, env });
});
afterAll(async () => {
  await host.stop();
  await closePeers(peers);
});

describe("every route of Core and connector", () => {
  it("is one of those that this test calls", () => {
    expect(ofApi("core").length).toBeGreaterThan(40);
    expect(ofApi("connector").length).toBeGreaterThan(15);
    expect(ofApi("task").length).toBeGreaterThan(5);
  });

  it("logs one event that names application, subject, request id and status of a call that is granted", async () => {
    for (const route of ofApi("core", "connector")) {
      const api = apiOf(route);
      const { status, requestId, logged } = await called(route, bearing(await mint(["Core.Admin", "Connector.Call"])));
      const shown = `${route.method} /${route.template}`;
      expect([401, 403], shown).not.toContain(status);
      expect(
        logged.filter(({ event }) => event === "http"),
        shown,
      ).toEqual([
        expect.objectContaining({
          api,
          route: shown,
          status,
          requestId,
          callerKind: "tenant",
          application,
          subject,
        }),
      ]);
      // All other events of the call name the caller too.
      for (const event of logged) expect(event, shown).toMatchObject({ application, subject });
      expect(
        logged.filter(({ event }) => event === "caller_refused"),
        shown,
      ).toEqual([]);
    }
  });

  it("names a static API token by its id", async () => {
    for (const route of ofApi("core", "connector")) {
      const token = apiOf(route) === "core" ? tokens.core : tokens.connector;
      const { logged, status } = await called(route, bearing(token));
      const shown = `${route.method} /${route.template}`;
      expect(
        logged.filter(({ event }) => event === "http"),
        shown,
      ).toEqual([expect.objectContaining({ callerKind: "api_token", application: token.split("_")[1] })]);
      expect(JSON.stringify(logged)).not.toContain(token.split("_").slice(2).join("_"));
      expect(logged.filter(({ event }) => event === "caller_refused").length, shown).toBe(status === 403 ? 1 : 0);
    }
  });

  it.each<[string, () => Promise<string> | string, number, string, object]>([
    ["a caller without a token", () => "", 401, "no_token", {}],
    [
      "a token that has expired",
      () => peers.issuer.mint({ audience, roles: [], azp: application, subject, expiresInSeconds: -1 }),
      401,
      "expired",
      { application, subject },
    ],
    [
      "an ID token",
      () =>
        peers.issuer.mint({
          audience,
          roles: ["Core.Admin", "Connector.Call"],
          azp: application,
          subject,
          claims: { nonce: "n" },
        }),
      401,
      "id_token",
      { application, subject },
    ],
    ["a token without the role", () => mint(["Another.Role"]), 403, "no_role", { application, subject }],
  ])(
    "logs the refusal of %s with the reason",
    async (_, token, expected, reason, who) => {
      for (const route of ofApi("core", "connector")) {
        const { status, requestId, logged } = await called(route, bearing(await token()));
        const shown = `${route.method} /${route.template}`;
        expect(status, shown).toBe(expected);
        const common = { api: apiOf(route), route: shown, status, requestId, ...who };
        expect(logged, shown).toHaveLength(2);
        expect(logged, shown).toContainEqual(expect.objectContaining({ event: "caller_refused", ...common, reason }));
        expect(logged, shown).toContainEqual(expect.objectContaining({ event: "http", ...common }));
      }
    },
    120_000,
  );

  it("logs the caller of maintenance as the host reports it", async () => {
    for (const route of ofApi("task")) {
      const { status, logged } = await called(route, { "x-functions-key": host.masterKey, "content-length": "0" });
      expect([401, 403]).not.toContain(status);
      expect(logged.length, route.template).toBeGreaterThan(0);
      for (const event of logged) expect(event, route.template).toMatchObject({ callerKind: "master_key" });
    }
  });
});

describe("every route of the Client API that needs a session", () => {
  it("logs the refusal of a call without one, before it looks at the input", async () => {
    const routes = ofApi("client").filter(
      ({ template, method }) => /(status|logout)$/.test(template) && method !== "OPTIONS",
    );
    expect(routes).toHaveLength(4);
    for (const route of routes) {
      const { status, logged } = await called(
        { ...route, path: `${route.path}?a=1&a=2` },
        { "content-type": "text/plain" },
      );
      expect(status).toBe(401);
      expect(logged).toContainEqual(expect.objectContaining({ event: "caller_refused", reason: "no_session", status }));
    }
  });

  it("logs the refusal of a password change with neither a session nor a code nor a token", async () => {
    for (const route of ofApi("client").filter(
      ({ template, method }) => /password$/.test(template) && method !== "OPTIONS",
    )) {
      const { status, logged } = await called(route, {});
      expect(status).toBe(401);
      expect(logged).toContainEqual(expect.objectContaining({ event: "caller_refused", reason: "no_session", status }));
    }
  });
});
