import { readFileSync } from "node:fs";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { metrics } from "../../../lib/platform/telemetry.ts";
import { type FullRun, fullRun } from "./full-run.ts";

let run: FullRun;
/** Everything that left the host, but for the bodies of its answers. */
let emitted: string;

beforeAll(async () => {
  run = await fullRun();
  emitted = [...run.collector.received.map(({ path, text }) => `${path}\n${text}`), run.output].join("\n");
});
afterAll(() => run?.collector.close());

/** The ways in which a text may be written. */
const spellings = (text: string): readonly string[] => {
  const bytes = Buffer.from(text, "utf8");
  return [
    text,
    JSON.stringify(text).slice(1, -1),
    encodeURIComponent(text),
    new URLSearchParams({ "": text }).toString().slice(1),
    // Without the letters at the end that depend on what follows.
    bytes.toString("base64").slice(0, Math.floor(bytes.length / 3) * 4),
    bytes.toString("base64url").slice(0, Math.floor(bytes.length / 3) * 4),
    bytes.toString("hex"),
  ];
};
const holds = (haystack: string, text: string): boolean => {
  const lower = haystack.toLowerCase();
  return spellings(text).some(spelling => lower.includes(spelling.toLowerCase()));
};
const named = (name: string) => run.collector.spans().filter(span => span.name === name);
const points = (name: keyof typeof metrics) =>
  run.collector
    .metrics()
    .filter(metric => metric.name === name)
    .flatMap(({ histogram }) => histogram.dataPoints);

describe("telemetry of a full run", () => {
  it("contains no secret and no recipient's data, in any spelling, in either protocol or on the console", () => {
    expect(Object.entries(run.secrets).filter(([, text]) => text.length < 4)).toEqual([]);
    expect(Object.keys(run.secrets).length).toBeGreaterThan(30);
    expect(Object.keys(run.secrets).filter(name => holds(emitted, run.secrets[name] ?? ""))).toEqual([]);
  });

  it("is searched in a way that would find them", () => {
    for (const [name, text] of Object.entries(run.secrets)) {
      for (const spelling of spellings(text)) expect(holds(`{"a":"x${spelling}y"}`, text), name).toBe(true);
    }
    expect(holds(emitted, "telemetry-user")).toBe(true);
    expect(holds(emitted, run.requestId)).toBe(true);
  });

  it("contains nothing that looks like a token, a sealed value or a private key", () => {
    expect(emitted).not.toMatch(/eyJ[A-Za-z0-9_-]{10}/);
    expect(emitted).not.toMatch(/BEGIN [A-Z ]*KEY|BEGIN CERTIFICATE/);
    expect(emitted).not.toMatch(/"d":\s*"[A-Za-z0-9_-]{20}/);
  });

  it("names a query or a path below a host in a span", () => {
    const allowed = [
      "az.namespace",
      "error.type",
      "faas.name",
      "http.request.method",
      "http.response.status_code",
      "http.route",
      "job",
      "operation",
      "outcome",
      "peer",
      "server.address",
      "trigger",
    ];
    const spans = run.collector.spans();
    expect([...new Set(spans.flatMap(({ attributes }) => Object.keys(attributes)))].sort()).toEqual(allowed);
    for (const { name, attributes } of spans) {
      for (const value of [name, ...Object.values(attributes)]) expect(String(value)).not.toMatch(/[?&=']/);
      expect(String(attributes["server.address"] ?? "a:1")).toMatch(/^[a-z0-9.]+:\d+$/);
    }
  });
});

describe("one trace", () => {
  it("runs through the call, the job, vault, storage, the identity provider and the mail service", () => {
    const trace = named("mail: send").map(({ traceId }) => traceId);
    const names = run.collector.spans().filter(({ traceId }) => trace.includes(traceId));
    const seen = new Set(names.map(({ name }) => name));
    expect([...seen]).toEqual(
      expect.arrayContaining([
        "POST /v2/operations/process-credential-requests",
        "job processCredentialRequests",
        "IdP entra: registration",
        "mail: send",
        "delivery service: get shipment",
      ]),
    );
    const hosts = (part: string) => names.filter(({ name }) => name.startsWith(part)).length;
    expect(hosts("TableClient.")).toBeGreaterThan(0);
    expect(hosts("EmailClient.") + hosts("POST")).toBeGreaterThan(0);
  });

  it("has every span below one that is there, but for the calls and timers themselves", () => {
    const spans = run.collector.spans();
    const ids = new Set(spans.map(({ spanId }) => spanId));
    const roots = spans.filter(({ parentSpanId = "" }) => parentSpanId === "");
    expect(spans.filter(({ parentSpanId = "" }) => parentSpanId !== "" && !ids.has(parentSpanId))).toEqual([]);
    for (const { name } of roots) expect(name).toMatch(/^(GET|POST|DELETE) \/|^timer (dataCleanup|sessionCleanup)$/);
    expect(ids.size).toBe(spans.length);
  });

  it("has the log events of its call", () => {
    const [call] = named("POST /v2/credential-requests").filter(
      ({ attributes }) => attributes["http.response.status_code"] === 201,
    );
    const events = run.collector.logs().filter(({ traceId }) => traceId === call?.traceId);
    expect(events.map(({ body }) => body.stringValue)).toEqual(expect.arrayContaining(["request_state", "http"]));
  });

  it("has the status of a refused call, and marks no refusal as a failure", () => {
    const refused = named("GET /v2/status").filter(({ attributes }) => attributes["http.response.status_code"] === 401);
    expect(refused.map(({ status }) => status.code ?? 0)).toEqual([0]);
  });
});

describe("audit events", () => {
  const events = (name: string) => run.collector.logs().filter(({ body }) => body.stringValue === name);

  it("can be queried by each of their fields", () => {
    const attempts = events("authentication").map(({ attributes }) => attributes);
    expect(attempts.map(({ outcome, reason }) => [outcome, reason])).toEqual([
      ["refused", expect.any(String)],
      ["granted", undefined],
      ["granted", undefined],
      ["granted", undefined],
    ]);
    expect(attempts[0]).toMatchObject({
      username: "telemetry-user",
      factors: '["password","otp"]',
      prefix: "telemetrykey",
    });
    expect(events("authentication").every(({ severityNumber }) => severityNumber === 9)).toBe(true);
  });

  it("logs every state that a request enters", () => {
    const states = events("request_state").filter(({ attributes }) => attributes.credentialRequestId === run.requestId);
    expect(states.map(({ attributes: { from, state } }) => [from, state])).toEqual([
      [undefined, "received"],
      ["received", "started"],
      ["started", "complete"],
    ]);
  });
});

describe("metrics", () => {
  it("measures each run of a job and each count of its report, by timer and by call", () => {
    const runs = points("job.duration").map(({ attributes }) => attributes);
    expect(runs).toEqual(
      expect.arrayContaining([
        { job: "processShipments", trigger: "call", outcome: "done" },
        { job: "processCredentialRequests", trigger: "call", outcome: "done" },
        { job: "dataCleanup", trigger: "timer", outcome: "done" },
      ]),
    );
    const sum = (result: string) =>
      points("job.items")
        .filter(({ attributes }) => attributes.job === "processCredentialRequests" && attributes.result === result)
        .reduce((total, point) => total + point.sum, 0);
    expect([sum("activated"), sum("failed"), sum("deferred")]).toEqual([1, 0, 0]);
    expect(sum("pending")).toBeGreaterThan(0);
  });

  it("measures how long peers took, and which of them throttle", () => {
    const calls = points("peer.call.duration").map(({ attributes: { peer, operation, outcome } }) =>
      [peer, operation, outcome].join(", "),
    );
    expect(calls).toEqual(
      expect.arrayContaining([
        "delivery service, create shipment, ok",
        "IdP entra, registration, throttled",
        "IdP entra, registration, ok",
        "mail, send, throttled",
        "mail, send, ok",
      ]),
    );
  });

  it("measures the age of a PIN email that could not be sent", () => {
    const [point] = points("pin_mail.unsent.age");
    expect(point?.count).toBeGreaterThan(0);
    expect(point?.max).toBeGreaterThan(0);
  });
});

describe("Application Insights", () => {
  const envelopes = () =>
    run.collector.received
      .filter(({ path }) => path.startsWith("/v2"))
      .flatMap(({ text }) => JSON.parse(text.slice(text.indexOf("\n"))) as readonly Envelope[]);
  interface Envelope {
    readonly tags: Readonly<Record<string, string>>;
    readonly data: { readonly baseType: string; readonly baseData: Readonly<Record<string, unknown>> };
  }
  const rows = (type: string) => envelopes().filter(({ data }) => data.baseType === type);

  it("has an audit event as a row whose message is its name and whose properties are its fields", () => {
    const logins = rows("MessageData").filter(({ data }) => data.baseData.message === "authentication");
    expect(logins).toHaveLength(4);
    expect(logins[1]?.data.baseData.properties).toMatchObject({ outcome: "granted", username: "telemetry-user" });
    expect(logins[1]?.tags["ai.operation.id"]).toMatch(/^[0-9a-f]{32}$/);
  });

  it("names the app and the instance in every row, as the platform names them", () => {
    const named = envelopes().map(({ tags }) => [tags["ai.cloud.role"], tags["ai.cloud.roleInstance"]].join(" on "));
    expect([...new Set(named)]).toEqual(["telemetry-app on pod-1"]);
  });

  it("has calls as requests, peers as dependencies by host and result, and metrics with their labels", () => {
    const [login] = rows("RequestData").filter(({ data }) => data.baseData.name === "GET /client/login");
    expect(login?.data.baseData).toMatchObject({ responseCode: "200", success: true });
    const throttled = rows("RemoteDependencyData").filter(
      ({ data }) => data.baseData.name === "IdP entra: registration" && data.baseData.resultCode === "429",
    );
    expect(throttled).toHaveLength(1);
    const metricRows = rows("MetricData").map(({ data }) => data.baseData);
    expect(metricRows).toContainEqual(
      expect.objectContaining({
        metrics: [expect.objectContaining({ name: "job.duration", count: 1 })],
        properties: { job: "dataCleanup", trigger: "timer", outcome: "done" },
      }),
    );
  });
});

describe("docs/telemetry.md", () => {
  const document = readFileSync("docs/telemetry.md", "utf8");
  const words = new Set([...document.matchAll(/`([^`]+)`/g)].map(([, word]) => word));

  it("names every metric and every log event of the run", () => {
    const events = new Set(run.collector.logs().map(({ body }) => body.stringValue));
    expect([...Object.keys(metrics), ...events].filter(name => !words.has(name))).toEqual([]);
  });

  it("names every count of each report in the row of its job", () => {
    const counts = points("job.items").map(({ attributes: { job, result } }) => ({ job, result }));
    const rowOf = (job: unknown) => document.split("\n").find(row => row.startsWith(`| \`${String(job)}\` | `)) ?? "";
    expect(new Set(counts.map(({ job }) => job))).toContain("sessionCleanup");
    expect(counts.filter(({ job, result }) => !rowOf(job).includes(`\`${String(result)}\``))).toEqual([]);
  });
});
