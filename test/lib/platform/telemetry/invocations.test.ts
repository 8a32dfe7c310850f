import { app } from "@azure/functions";
import { beforeAll, beforeEach, describe, expect, it } from "vitest";
import { traceInvocations } from "../../../../lib/platform/telemetry/instrumentation.ts";
import { currentSpan, type Span } from "../../../../lib/platform/telemetry.ts";
import type { RpcInput } from "../../../../local/host/core-contract.ts";
import { type FunctionsCore, installFunctionsCore } from "../../../../local/host/functions-core.ts";

const spans: Span[] = [];
let flushed = 0;
let ids = 0;
let core: FunctionsCore;

beforeAll(() => {
  core = installFunctionsCore();
  const tracer = {
    sink: { span: (span: Span) => void spans.push(span), measure: () => {} },
    now: () => 0,
    random: (bytes: number) => new Uint8Array(bytes).fill(++ids),
  };
  traceInvocations(tracer, async () => {
    flushed++;
  });
  app.http("thing", {
    methods: ["GET", "POST"],
    route: "things/{id}",
    handler: async request => {
      if (request.query.get("mode") === "throw") throw new TypeError("quotes hunter2");
      return { status: Number(request.query.get("mode") ?? 200), jsonBody: currentSpan() };
    },
  });
  app.timer("clock", { schedule: "0 0 0 1 1 *", handler: async () => {} });
});
beforeEach(() => {
  spans.length = 0;
  flushed = 0;
});

/** One invocation, as the platform's worker does it. */
async function invoke(name: string, data: RpcInput, traceParent = ""): Promise<unknown> {
  const registered = core.functions.get(name);
  const programming = core.programmingModel();
  if (registered === undefined || programming === undefined) throw new Error(`${name} is not registered`);
  const [input = ""] = Object.keys(registered.metadata.bindings);
  const model = await programming.getInvocationModel({
    invocationId: "i",
    metadata: registered.metadata,
    request: { inputData: [{ name: input, data }], triggerMetadata: {}, traceContext: { traceParent, traceState: "" } },
    log: () => {},
  });
  const { context, inputs } = await model.getArguments();
  const before = {
    hookData: {},
    appHookData: core.appHookData,
    invocationContext: context,
    inputs,
    functionCallback: registered.callback,
  };
  await core.runHooks("preInvocation", before);
  return model.invokeFunction(context, before.inputs, before.functionCallback);
}

const get = (query = "") => ({
  http: {
    method: "GET",
    url: `http://127.0.0.1/things/7?${query}`,
    nullableHeaders: {},
    nullableParams: {},
    nullableQuery: Object.fromEntries([...new URLSearchParams(query)].map(([name, value]) => [name, { value }])),
  },
});
const traceParent = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";

describe("an invocation", () => {
  it("goes on in the host's trace, by the template of its route and never by its address", async () => {
    await invoke("thing", get("password=hunter2"), traceParent);
    expect(spans).toMatchObject([
      {
        name: "GET /things/{id}",
        kind: "internal",
        traceId: "0af7651916cd43dd8448eb211c80319c",
        parent: { spanId: "b7ad6b7169203331", remote: true },
        labels: {
          "faas.name": "thing",
          "http.request.method": "GET",
          "http.route": "/things/{id}",
          "http.response.status_code": 200,
        },
      },
    ]);
    expect(JSON.stringify(spans)).not.toMatch(/hunter2|things\/7/);
  });

  it("begins a trace where the host has none", async () => {
    await invoke("thing", get());
    expect(spans).toMatchObject([{ kind: "server" }]);
    expect(spans[0]?.parent).toBeUndefined();
  });

  it("gives what it runs its place in the trace", async () => {
    const result = (await invoke("thing", get(), traceParent)) as { readonly jsonBody: unknown };
    expect(result.jsonBody).toMatchObject({ spanId: spans[0]?.spanId });
  });

  it.each([
    ["500", "500"],
    ["503", "503"],
    ["404", undefined],
    ["401", undefined],
  ])("that answers %s fails as %s", async (status, error) => {
    await invoke("thing", get(`mode=${status}`));
    expect(spans.map(span => span.error)).toEqual([error]);
  });

  it("that throws fails by the error's name, and the host gets the error", async () => {
    await expect(invoke("thing", get("mode=throw"))).rejects.toThrow("hunter2");
    expect(spans.map(span => span.error)).toEqual(["TypeError"]);
    expect(JSON.stringify(spans)).not.toContain("hunter2");
  });

  it("of a timer sends everything at its end; one of a call does not make its caller wait for that", async () => {
    await invoke("thing", get());
    expect(flushed).toBe(0);
    await invoke("clock", { json: "{}" });
    expect(flushed).toBe(1);
    expect(spans.at(-1)).toMatchObject({ name: "timer clock", labels: { "faas.name": "clock" } });
  });
});

it("the host learns that it need not send the app's log events too", async () => {
  const capabilities = await core.programmingModel()?.getCapabilities({});
  expect(capabilities).toMatchObject({ WorkerOpenTelemetryEnabled: "true" });
});
