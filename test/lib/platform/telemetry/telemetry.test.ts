import { once } from "node:events";
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it, vi } from "vitest";
import { traceSdkCalls } from "../../../../lib/platform/telemetry/instrumentation.ts";
import { openTelemetry } from "../../../../lib/platform/telemetry/telemetry-sink.ts";
import { inTrace, type Tracer } from "../../../../lib/platform/telemetry.ts";
import { type Collector, startCollector } from "../../../support/host/telemetry-collector.ts";

let collector: Collector;
beforeAll(async () => {
  vi.stubEnv("APPLICATION_INSIGHTS_NO_STATSBEAT", "1");
  collector = await startCollector();
  // The first load of these packages can take longer on a busy machine than a flush may.
  await Promise.all([
    import("../../../../lib/platform/telemetry/telemetry-sdk.ts"),
    import("@opentelemetry/exporter-metrics-otlp-http"),
    import("@azure/monitor-opentelemetry-exporter"),
  ]);
});
afterAll(async () => {
  vi.unstubAllEnvs();
  await collector.close();
});

const opened: { close(): Promise<void> }[] = [];
afterEach(async () => {
  for (const telemetry of opened.splice(0)) await telemetry.close();
});

function telemetryTo(options: Partial<Parameters<typeof openTelemetry>[0]>) {
  const lines: string[] = [];
  let now = Date.parse("2026-11-01T12:00:00Z");
  const telemetry = openTelemetry({
    resource: { "service.name": "test" },
    now: () => now,
    writeLine: (_, line) => lines.push(line),
    ...options,
  });
  if (telemetry === undefined) throw new Error("no telemetry");
  opened.push(telemetry);
  const tracer: Tracer = { sink: telemetry, now: () => now, random: bytes => new Uint8Array(bytes).fill(5) };
  return { telemetry, lines, tracer, advance: (ms: number) => (now += ms) };
}

describe("telemetry", () => {
  it("is none where no place for it is named", () => {
    const options = { resource: {}, now: Date.now, writeLine: () => {} };
    expect(openTelemetry(options)).toBeUndefined();
  });

  it("sends what came before it was loaded, with its own times and in its trace", async () => {
    const { telemetry, tracer, advance } = telemetryTo({ otlpEndpoint: collector.url });
    const before = { spans: collector.spans().length, logs: collector.logs().length };
    await inTrace(tracer, { name: "early", labels: { a: "b" } }, async () => {
      telemetry.writeLine("warn", '{"event":"sample","count":2,"ok":true,"list":["x"],"error":{"name":"E"}}');
      telemetry.measure("peer.call.duration", 1.5, { peer: "p" });
      advance(250);
    });
    await telemetry.flush();
    const [span] = collector.spans().slice(before.spans);
    const [log] = collector.logs().slice(before.logs);
    expect(span).toMatchObject({ name: "early", attributes: { a: "b" } });
    expect(BigInt(span?.endTimeUnixNano ?? 0) - BigInt(span?.startTimeUnixNano ?? 0)).toBe(250_000_000n);
    expect(span?.startTimeUnixNano).toBe(`${Date.parse("2026-11-01T12:00:00Z")}000000`);
    expect(log).toMatchObject({
      body: { stringValue: "sample" },
      severityNumber: 13,
      attributes: { count: 2, ok: true, list: '["x"]', error: '{"name":"E"}' },
      traceId: span?.traceId,
      spanId: span?.spanId,
    });
    const [metric] = collector.metrics().filter(({ name }) => name === "peer.call.duration");
    expect(metric).toMatchObject({ unit: "s", histogram: { dataPoints: [{ sum: 1.5, attributes: { peer: "p" } }] } });
  });

  it("says on the console what it could not send, once a minute, and quotes nothing", async () => {
    const { telemetry, lines, advance } = telemetryTo({ otlpEndpoint: `${collector.url}/refusing` });
    const lose = async () => {
      telemetry.writeLine("info", '{"event":"secret-of-the-event"}');
      await telemetry.flush();
    };
    await lose();
    await lose();
    expect(lines.map(line => JSON.parse(line).event)).toEqual(["telemetry_lost"]);
    advance(60_000);
    await lose();
    expect(lines).toHaveLength(2);
    expect(lines.join()).not.toContain("secret-of-the-event");
    expect(lines.join()).not.toContain("words of the collector");
  });

  describe.each(["refuses", "hangs"])("to an endpoint that %s", kind => {
    let endpoint: Server;
    let otlpEndpoint: string;
    beforeEach(async () => {
      endpoint = createServer();
      endpoint.listen(0, "127.0.0.1");
      await once(endpoint, "listening");
      otlpEndpoint = `http://127.0.0.1:${(endpoint.address() as AddressInfo).port}`;
      if (kind === "refuses") endpoint.close();
    });
    afterEach(() => {
      endpoint.closeAllConnections();
      endpoint.close();
    });

    /** Opens telemetry with an item of each signal to send. */
    async function withItems(limits: NonNullable<Parameters<typeof openTelemetry>[0]["limits"]>) {
      const { telemetry, lines, tracer } = telemetryTo({ otlpEndpoint, limits });
      await inTrace(tracer, { name: "span", labels: {} }, async () => {
        telemetry.writeLine("info", '{"event":"e"}');
        telemetry.measure("peer.call.duration", 1, { peer: "p" });
      });
      return { telemetry, events: () => lines.map(line => JSON.parse(line).event) };
    }
    /** Far above the short limits here, and below the tries of OpenTelemetry. */
    const isLate = () => new Promise(resolve => setTimeout(resolve, 3000, "late"));

    it("closes within one limit for all signals, and reports the loss once", async () => {
      const { telemetry, events } = await withItems({ closeMs: 100, afterFailureMs: 50 });
      expect(await Promise.race([telemetry.close(), isLate()])).toBeUndefined();
      expect(events()).toEqual(["telemetry_lost"]);
    });

    it("waits a short time only when it has failed before", async () => {
      const { telemetry, events } = await withItems({ flushMs: 100, closeMs: 60_000, afterFailureMs: 50 });
      await telemetry.flush();
      telemetry.writeLine("info", '{"event":"another"}');
      expect(await Promise.race([telemetry.close(), isLate()])).toBeUndefined();
      expect(events()).toEqual(["telemetry_lost"]);
    });
  });

  it("sends every log event of a flood, and reports on the console that it drops further ones", async () => {
    const { telemetry, lines } = telemetryTo({ otlpEndpoint: collector.url });
    const logAtOnce = (event: string, count: number) => {
      for (let each = 0; each < count; each++) telemetry.writeLine("info", JSON.stringify({ event }));
    };
    const sent = (event: string) => collector.logs().filter(({ body }) => body.stringValue === event).length;
    logAtOnce("first", 1);
    await telemetry.flush();
    logAtOnce("flood", 5000);
    await telemetry.flush();
    expect([sent("flood"), lines]).toEqual([5000, []]);
    logAtOnce("too much", 20_000);
    expect(lines.map(line => JSON.parse(line))).toEqual([
      { event: "telemetry_lost", reason: "more log events than can be sent" },
    ]);
  });

  it("does not report itself: the calls that send it are part of no trace", async () => {
    traceSdkCalls();
    const { connectionString, url: otlpEndpoint } = collector;
    const { telemetry, tracer } = telemetryTo({ connectionString, otlpEndpoint });
    await inTrace(tracer, { name: "sending", labels: {} }, async () => {
      telemetry.writeLine("info", '{"event":"e"}');
      await telemetry.flush();
    });
    await telemetry.flush();
    const { host } = new URL(collector.url);
    const spans = collector.spans();
    expect(spans.map(({ name }) => name)).toContain("sending");
    expect(spans.filter(({ attributes }) => attributes["server.address"] === host)).toEqual([]);
  });

  it("does not send to Application Insights without TLS, but on this machine", async () => {
    const connectionString = collector.connectionString.replace("127.0.0.1", "insights.example");
    const { telemetry, lines } = telemetryTo({ connectionString });
    telemetry.writeLine("info", '{"event":"e"}');
    await telemetry.flush();
    expect(lines).toEqual([expect.stringContaining("telemetry_lost")]);
  });

  it("shows Application Insights the token of the app's identity, where it is given one", async () => {
    const asked: unknown[] = [];
    const credential = {
      getToken: async (scope: string | string[]) => {
        asked.push(scope);
        return { token: "token-of-the-identity", expiresOnTimestamp: Date.now() + 3_600_000 };
      },
    };
    const { telemetry } = telemetryTo({ connectionString: collector.connectionString, credential });
    telemetry.writeLine("info", '{"event":"by identity"}');
    await telemetry.flush();
    expect(asked.flat()).toContain("https://monitor.azure.com/.default");
    const sent = collector.received.find(({ path, text }) => path.startsWith("/v2") && text.includes("by identity"));
    expect(sent?.text).toContain('"authorization":"Bearer token-of-the-identity"');
  });
});
