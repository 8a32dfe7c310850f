import { request } from "node:http";
import { beforeAll, expect, test } from "vitest";
import { start } from "../../functions/start.ts";
import { hostBodyLimitBytes } from "../../lib/platform/http/read-body.ts";
import type { RunningAzureHost } from "../../local/azure-host/start-azure-host.ts";
import type { Narrator } from "../../local/demo/print.ts";
import { playStory } from "../../local/demo/story.ts";
import { newOrder } from "../crash/orders.ts";
import { describeOnAzureHost } from "../support/host/azure-host.ts";
import { functionsCoreOfFile } from "../support/host/functions-core-of-file.ts";
import { type Collector, startCollector } from "../support/host/telemetry-collector.ts";
import { atEndOfFile } from "../support/run/end-of-file.ts";
import { until } from "../support/until.ts";
import { send } from "./behaviour/exchange.ts";
import { request as sentRequest } from "./behaviour/row.ts";
import { type Product, productOfFile } from "./product.ts";

const core = functionsCoreOfFile();

describeOnAzureHost("the package on Azure's Functions host", () => {
  let product: Product;
  let collector: Collector;
  let host: RunningAzureHost;

  beforeAll(async () => {
    [product, collector] = await Promise.all([productOfFile(), startCollector()]);
    atEndOfFile(() => collector.close());
    host = await product.startHost({
      OTEL_EXPORTER_OTLP_ENDPOINT: collector.url,
      OTEL_METRIC_EXPORT_INTERVAL: "1000",
      // The one timer that fires here.
      CRON_SESSION_CLEANUP_SCHEDULE: "*/2 * * * * *",
      // What an instance of 512 MB leaves to the host.
      DOTNET_GCHeapHardLimit: "0x18000000",
    });
  });

  const asAdmin = (path: string, init: RequestInit = {}) =>
    fetch(host.url + path, {
      ...init,
      headers: { "x-functions-key": host.masterKey, "content-type": "application/json" },
    });
  const logged = (text: RegExp) =>
    until(
      () => text.test(host.log()),
      () => `The log has no ${text}:\n${host.log().slice(-3000)}`,
    );

  test("has every function that the app registers, by route, methods and level, and no other", async () => {
    await start(product.settings);
    const registered = [...core.functions.values()].map(({ metadata }) => {
      const { type, route, methods, authLevel } = Object.values(metadata.bindings)[0] ?? { type: "" };
      return [metadata.name, type, route, methods, authLevel];
    });
    const listed = (await (await asAdmin("/admin/functions")).json()) as readonly {
      name: string;
      config: { bindings: readonly Record<string, unknown>[] };
    }[];
    const served = listed.map(({ name, config }) => {
      const { type, route, methods, authLevel } = config.bindings[0] ?? {};
      return [name, type, route, methods, authLevel];
    });
    expect(served.length).toBeGreaterThan(90);
    expect(served.sort()).toEqual(registered.sort());
  });

  test("starts without a conflict of routes, an error or a warning", () => {
    const lines = host.log().split("\n");
    expect(lines.filter(line => /is in error|conflict|^\s*(?:warn|fail|crit):/i.test(line))).toEqual([]);
    expect(host.log()).toContain("Job host started");
  });

  test("plays the story of every API: from the order to the PIN email, from the user to the end of a session", async () => {
    const told: string[] = [];
    const tell = (text: string) => void told.push(text);
    const narrator: Narrator = {
      title: tell,
      note: tell,
      paragraph: tell,
      step: tell,
      call: (line, status) => tell(`${line} ${status}`),
      behind: () => {},
      states: () => {},
      frame: lines => lines.forEach(tell),
    };
    await playStory({
      ready: Promise.resolve(product.factsOf(host)),
      narrator,
      end: new AbortController().signal,
    });
    expect(told).toContain("The person signs in");
    expect(told.join("\n")).toContain("Subject:");
  });

  test("finds a session in the second line of cookies, after a cookie with a character above U+00FF", async () => {
    const post = (path: string, token: string) =>
      fetch(host.url + path, {
        method: "POST",
        headers: { authorization: `Bearer ${token}`, "content-type": "application/json" },
        body: JSON.stringify({ username: "carol", password: "correct horse battery" }),
      });
    expect((await post("/core/users", product.tokens.core)).status).toBe(201);
    const [session = ""] = (await post("/client/login", "")).headers.get("set-cookie")?.split(";") ?? [];
    const theme = Buffer.from("theme=☕").toString("latin1");
    expect(
      await send(host, sentRequest("GET /client/status", [`Cookie: ${theme}`, `Cookie: ${session}`])),
    ).toMatchObject({ status: 200, body: { username: "carol" } });
  });

  test("runs a timer at its time", async () => {
    await logged(/Executing 'Functions\.sessionCleanup' \(Reason='Timer fired at/);
    await logged(/Executed 'Functions\.sessionCleanup' \(Succeeded/);
  });

  test("runs maintenance for the master key only", async () => {
    const { status } = await fetch(`${host.url}/maintenance/connector/back-up`, { method: "POST" });
    expect(status).toBe(401);
    const answer = await asAdmin("/maintenance/connector/back-up", { method: "POST" });
    expect([answer.status, await answer.json()]).toEqual([
      200,
      { data: expect.objectContaining({ backup: expect.any(String) }) },
    ]);
  });

  test("runs a task to its end when its caller has left", async () => {
    const { delivery } = product.peers;
    delivery.fail({ kind: "hang" });
    const caller = new AbortController();
    const call = asAdmin("/maintenance/connector/check-peers", { method: "POST", signal: caller.signal });
    await delivery.untilHanging();
    caller.abort();
    await expect(call).rejects.toThrow();
    delivery.release();
    const isReported = () =>
      collector.logs().some(({ body, attributes }) => body.stringValue === "task" && attributes.task === "checkPeers");
    await until(isReported, () => JSON.stringify(collector.logs().slice(-5)));
  });

  test("sends spans, metrics and log events to an OTLP endpoint", async () => {
    await until(
      () => collector.spans().length > 0 && collector.metrics().length > 0 && collector.logs().length > 0,
      () => JSON.stringify(collector.received.map(({ path }) => path)),
    );
  });

  test("survives bodies of 99 MB at once, at the memory of a small instance, and lets the app refuse smaller ones", async () => {
    const blanks = new Uint8Array(99_000_000).fill(32);
    const login = (bytes: number) =>
      new Promise<number | undefined>(resolve => {
        const headers = { "content-type": "application/json", "content-length": bytes };
        const sent = request(`${host.url}/client/login`, { method: "POST", headers, agent: false });
        sent.on("response", response => {
          resolve(response.statusCode);
          sent.destroy();
        });
        // The host closes the connection while the body arrives.
        sent.on("error", () => resolve(500));
        sent.end(blanks.subarray(0, bytes));
      });
    const tooLong = await Promise.all(Array.from({ length: 8 }, () => login(blanks.length)));
    expect(new Set(tooLong)).toEqual(new Set([500]));
    const long = await Promise.all(Array.from({ length: 8 }, () => login(hostBodyLimitBytes)));
    expect(new Set(long)).toEqual(new Set([413]));
    expect(host.isRunning()).toBe(true);
    expect((await fetch(`${host.url}/health`)).status).toBe(200);
  });

  test("finishes the calls in flight when it is stopped, and accepts no other", async () => {
    const { peers, call } = product;
    peers.delivery.fail({ kind: "hang", method: "POST", times: 2 });
    const orders = [1, 2].map(() => call(host, "POST", "/v2/credential-requests", newOrder([1]).body));
    await peers.delivery.untilHanging(2);
    const stopped = host.stop();
    const isRefused = () =>
      fetch(`${host.url}/health`).then(
        () => false,
        () => true,
      );
    await until(isRefused, () => "The port stays open.");
    expect(host.isRunning()).toBe(true);
    peers.delivery.release();
    expect((await Promise.all(orders)).map(({ status }) => status)).toEqual([201, 201]);
    await stopped;
    await until(
      () => collector.received.some(({ text }) => text.includes('"stopped"')),
      () => "The event of the stop is not sent.",
    );
  });

  test("responds 503 to every route if settings are wrong, names one in the log, and reports no conflict of routes", async () => {
    // Paths that overlap would define the same route twice.
    const misled = await product.startHost({ SESSION_IDLE_SECONDS: "soon", CORE_PATH: "client" });
    const routes = [
      ["GET", "/health"],
      ["GET", "/v2/status"],
      ["POST", "/client/login"],
      ["POST", "/maintenance/connector/back-up"],
    ] as const;
    for (const [method, path] of routes) {
      const { status } = await fetch(misled.url + path, { method, headers: { "x-functions-key": misled.masterKey } });
      expect([path, status]).toEqual([path, 503]);
    }
    await until(
      () => /bad_settings.*SESSION_IDLE_SECONDS/.test(misled.log()),
      () => misled.log(),
    );
    expect(misled.log()).not.toMatch(/is in error|conflict/);
  });
});
