import { createRequire } from "node:module";
import { app, type HttpRequest, type HttpResponseInit, type InvocationContext } from "@azure/functions";
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from "vitest";
import { registerHttp } from "../../../../lib/platform/azure/functions-app.ts";
import { invokeWithCall } from "../../../../lib/platform/azure/http-invocation.ts";
import type { Call, Reply } from "../../../../lib/platform/http/call.ts";
import type { InvocationResponse, RpcInput } from "../../../../local/host/core-contract.ts";
import { type LocalHost, startHost } from "../../../../local/host/host.ts";
import { functionsCoreOfFile } from "../../../support/host/functions-core-of-file.ts";

const headerNames = ["Host", "content-type", "content-length", "x-thing", "x-empty", "x-absent", "cookie"];

/** What endpoints read of a request. The path is that of the library's function. */
const seen = ({ method, url, params, headers }: Call | HttpRequest, body: Uint8Array) => ({
  method,
  url: String(url).replace("/own/", "/library/"),
  params,
  headers: headerNames.map(name => headers.get(name)),
  body: Buffer.from(body).toString("base64"),
});

const replies: Readonly<Record<string, Reply>> = {
  json: {
    status: 200,
    headers: { "x-request-id": "a", "cache-control": "no-store" },
    body: { text: "größe" },
  },
  refused: { status: 503, headers: { "retry-after": "3" }, body: {} },
  nothing: { status: 204, headers: {} },
  null: { status: 200, headers: {}, body: null },
  cookies: {
    status: 200,
    body: true,
    cookies: [
      { name: "a", value: "1 =;é", maxAge: 60, path: "/", secure: true, httpOnly: true, sameSite: "Lax" },
      { name: "b", value: "", maxAge: 0, path: "/", secure: false, httpOnly: false, sameSite: "None" },
      { name: "c", value: "x", path: "/", secure: true, httpOnly: true, sameSite: "Strict" },
    ],
  },
};

const core = functionsCoreOfFile();
let host: LocalHost;

beforeAll(async () => {
  const methods = ["GET", "POST", "DELETE"] as ("GET" | "POST" | "DELETE")[];
  registerHttp("own", {
    template: "own/{id}/{part}",
    methods,
    answer: async call => ({ status: 200, body: seen(call, call.body) }),
  });
  app.http("library", {
    route: "library/{id}/{part}",
    methods,
    handler: async request => ({ jsonBody: seen(request, new Uint8Array(await request.arrayBuffer())) }),
  });
  for (const [name, reply] of Object.entries(replies)) {
    registerHttp(`own-${name}`, { template: `own-${name}`, methods: ["GET"], answer: async () => reply });
    const { body, cookies = [], ...init } = reply;
    const type = { "content-type": "application/json; charset=utf-8" };
    const headers = { ...(body === undefined ? {} : type), ...init.headers };
    const json = body === undefined ? {} : { body: JSON.stringify(body) };
    app.http(`library-${name}`, {
      handler: async (): Promise<HttpResponseInit> => ({ ...init, ...json, headers, cookies: [...cookies] }),
    });
  }
  host = await startHost(core, { port: 0, env: {} });
});
afterAll(() => host.stop());

const ask = (path: string, init: RequestInit = {}) => fetch(`${host.url}/${path}`, init);

describe("the call that a handler gets", () => {
  it.each<[string, string, RequestInit]>([
    ["a GET with a query", "5/x?a=1&a=2&b=%C3%A9+%2B", {}],
    ["encoded segments", "a%2541%20b/c%2Fd", { headers: { "X-Thing": "One, Two", "x-empty": "" } }],
    ["a POST of a form", "5/x", { method: "POST", body: new URLSearchParams({ text: "größe" }) }],
    ["a POST of bytes", "5/x", { method: "POST", body: new Uint8Array([0, 255, 10, 13]) }],
    ["a POST without a body", "5/x", { method: "POST" }],
    ["a DELETE with a body", "5/x", { method: "DELETE", body: "{}" }],
    ["a header with characters up to U+00FF", "5/x", { headers: { cookie: Buffer.from("é").toString("latin1") } }],
  ])("has what the library's request has: %s", async (_, path, init) => {
    const [own, library] = await Promise.all([ask(`own/${path}`, init), ask(`library/${path}`, init)]);
    expect([own.status, library.status]).toEqual([200, 200]);
    expect(await own.json()).toEqual(await library.json());
  });

  it("may have a header value with a character above U+00FF, for which the library fails", async () => {
    const headers = { cookie: Buffer.from("theme=☕").toString("latin1") };
    const [own, library] = await Promise.all([ask("own/5/x", { headers }), ask("library/5/x", { headers })]);
    expect([own.status, library.status]).toEqual([200, 500]);
    expect(((await own.json()) as ReturnType<typeof seen>).headers.at(-1)).toBe("theme=☕");
  });
});

describe("the reply of a handler", () => {
  it.each(Object.keys(replies))("reaches the caller as the response that the library makes of it: %s", async name => {
    const [own, library] = await Promise.all(
      ["own", "library"].map(async kind => {
        const response = await ask(`${kind}-${name}`);
        const headers = [...response.headers].filter(([header]) => header !== "date");
        return { status: response.status, headers, text: await response.text() };
      }),
    );
    expect(own).toEqual(library);
    expect(own?.status).toBe(replies[name]?.status);
  });
});

/** Calls a function as the worker does. */
async function invoke(name: string, http: object, traceContext = { traceParent: "", traceState: "" }) {
  const registered = core.functions.get(name);
  const programming = core.programmingModel();
  if (registered === undefined || programming === undefined) throw new Error(`${name} is not registered`);
  const [input = ""] = Object.keys(registered.metadata.bindings);
  const model = await programming.getInvocationModel({
    invocationId: "i",
    metadata: registered.metadata,
    request: { inputData: [{ name: input, data: { http } as RpcInput }], triggerMetadata: {}, traceContext },
    log: () => {},
  });
  const { context, inputs } = await model.getArguments();
  const respond = async (): Promise<InvocationResponse> =>
    model.getResponse(context, await model.invokeFunction(context, inputs, registered.callback));
  return { context: context as InvocationContext, call: inputs[0] as Call, inputs, respond };
}

const url = "http://127.0.0.1/";

describe("an invocation", () => {
  it("has the method in upper case and finds headers in any case", async () => {
    const { call, inputs } = await invoke("own", {
      url,
      method: "get",
      nullableHeaders: { "X-Thing": { value: "a" } },
    });
    expect([inputs.length, call.method, call.headers.get("x-thing"), call.invocationId]).toEqual([1, "GET", "a", "i"]);
  });

  it("has the bytes of a body that is a text", async () => {
    const { call } = await invoke("own", { url, method: "POST", body: { string: "größe" } });
    expect(Buffer.from(call.body).toString()).toBe("größe");
  });

  it("is empty where the worker gives nothing", async () => {
    const { call } = await invoke("own", { url, method: null, nullableHeaders: { a: null }, body: null });
    expect([call.method, call.params, call.body]).toEqual(["", {}, new Uint8Array()]);
    expect([call.headers.get("a"), call.headers.get("b")]).toEqual(["", null]);
  });

  it("has the context of the library: name, trigger and trace", async () => {
    const trace = { traceParent: "00-1-2-01", traceState: "a=b" };
    const [own, library] = [
      await invoke("own", { url, method: "GET" }, trace),
      await invoke("library", { url, method: "GET" }, trace),
    ];
    const of = ({ context: { invocationId, traceContext, options } }: typeof own) => ({
      invocationId,
      traceContext,
      trigger: { ...options.trigger, route: "", name: "" },
    });
    expect(of(own)).toEqual(of(library));
    expect(own.context.functionName).toBe("own");
    expect(own.context.options.trigger).toMatchObject({ route: "own/{id}/{part}" });
  });

  it("is refused at the registration if the worker has no programming model, because each call would fail", () => {
    const api = createRequire(import.meta.url)("@azure/functions-core") as { getProgrammingModel: unknown };
    const { getProgrammingModel } = api;
    onTestFinished(() => void Object.assign(api, { getProgrammingModel }));
    for (const broken of [undefined, () => undefined]) {
      api.getProgrammingModel = broken;
      expect(() => invokeWithCall("own")).toThrow("programming model");
    }
  });

  it.each([
    ["value with a line break", { "x-a": "b\r\nset-cookie: c=d" }],
    ["value with a character above U+00FF", { "x-a": "☕" }],
    ["name with a line break", { "x-a\r\nx-b": "c" }],
    ["name in upper case", { "X-A": "b" }],
  ])("fails if its reply has a header %s", async (_, headers) => {
    registerHttp("bad", { template: "bad", methods: ["GET"], answer: async () => ({ status: 200, headers }) as Reply });
    onTestFinished(() => void (core.functions as Map<string, unknown>).delete("bad"));
    await expect((await invoke("bad", { url, method: "GET" })).respond()).rejects.toThrow(TypeError);
  });
});
