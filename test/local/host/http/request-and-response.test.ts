import { app, type HttpRequest, type HttpResponseInit, type InvocationContext } from "@azure/functions";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { type LocalHost, startHost } from "../../../../local/host/host.ts";
import { defaultBodyLimit } from "../../../../local/host/http/request.ts";
import { functionsCoreOfFile } from "../../../support/host/functions-core-of-file.ts";
import { call, exchange } from "./raw-request.ts";

const core = functionsCoreOfFile();
const lines: string[] = [];
let host: LocalHost;

/** What a function sees of its request, as the answer's body. */
const seen = async (request: HttpRequest, context: InvocationContext): Promise<HttpResponseInit> => ({
  jsonBody: {
    method: request.method,
    url: request.url,
    query: [...request.query],
    params: request.params,
    headers: Object.fromEntries(request.headers),
    user: request.user,
    body: Buffer.from(await request.arrayBuffer()).toString("base64"),
    traceParent: context.traceContext?.traceParent,
    retryContext: context.retryContext ?? null,
  },
});

/** Answers each path of `answer/…` with what stands here. */
const answers: Record<string, () => HttpResponseInit> = {
  json: () => ({ jsonBody: { hello: "world" } }),
  text: () => ({ body: "größe" }),
  bytes: () => ({ body: new Uint8Array([0, 255]) }),
  typed: () => ({ body: "<a/>", headers: { "content-type": "application/xml" } }),
  lengthy: () => ({ body: "four", headers: { "content-length": "4" } }),
  nothing: () => undefined as unknown as HttpResponseInit,
  empty: () => ({}),
  throws: () => {
    throw new Error("a secret of the handler");
  },
  string: () => "text" as unknown as HttpResponseInit,
  headers: () => ({
    headers: { server: "mine", "cache-control": "no-store", "www-authenticate": "Bearer", "x-frame-options": "DENY" },
  }),
  cookies: () => ({
    cookies: [
      { name: "a", value: "1 =;é", maxAge: 60, path: "/", secure: true, httpOnly: true, sameSite: "Lax" },
      { name: "b", value: "two" },
    ],
  }),
  "more-cookies": () => ({
    cookies: [
      { name: "c", value: "it's (!*)", domain: "example.test", path: "/sub", sameSite: "None" },
      { name: "d", value: "", expires: new Date("2026-01-01T00:00:00Z"), maxAge: 0, sameSite: "Strict" },
    ],
  }),
  "header-cookies": () => ({
    headers: new Headers([
      ["set-cookie", "one=1"],
      ["set-cookie", "two=2"],
    ]),
  }),
  "both-cookies": () => ({ headers: { "set-cookie": "one=1" }, cookies: [{ name: "two", value: "2" }] }),
  "bad-cookie": () => ({
    headers: { "x-mine": "1" },
    cookies: [{ name: "a\r\nx-injected: 1", value: "" }],
    body: "lost",
  }),
};

beforeAll(async () => {
  app.http("seen", { methods: ["GET", "POST", "PUT", "DELETE"], route: "Seen/{*rest}", handler: seen });
  app.http("default-methods", { handler: () => ({}) });
  app.http("head", { methods: ["GET", "HEAD", "OPTIONS"], handler: () => ({ body: "text" }) });
  app.http("get-only", { methods: ["GET"], authLevel: "function", handler: () => ({ body: "text" }) });
  app.http("answer", {
    route: "answer/{name}",
    handler: ({ params }) => {
      const make = answers[params.name ?? ""];
      if (make === undefined) throw new Error(`no answer ${params.name}`);
      return make();
    },
  });
  app.http("status", {
    route: "status/{code:int}",
    handler: ({ params }) => ({ status: Number(params.code), body: "b" }),
  });
  app.http("body-as", { methods: ["POST"], route: "body-as/{kind}", handler: bodyAs });
  const hostJson = {
    extensions: { http: { customHeaders: { "X-Content-Type-Options": "nosniff", "X-Frame-Options": "SAMEORIGIN" } } },
  };
  host = await startHost(core, { port: 0, hostJson, env: {}, log: (...line) => lines.push(line.join(" ")) });
});
afterAll(() => host.stop());

async function bodyAs(request: HttpRequest): Promise<HttpResponseInit> {
  if (request.params.kind === "json") return { jsonBody: await request.json() };
  if (request.params.kind === "text") return { body: await request.text() };
  return { jsonBody: [...(await request.formData())].map(([name, value]) => [name, String(value)]) };
}

const see = async (path: string, options?: Parameters<typeof call>[2]) =>
  JSON.parse((await call(host, path, options)).text);

describe("a request", () => {
  it("keeps its address as sent, with any forwarding headers", async () => {
    const headers = { host: "Example.test:81", "x-forwarded-host": "evil.test", "x-forwarded-proto": "https" };
    const { url, user, headers: got } = await see("/api/SEEN/a%2Fb%20c/?q=1&q=%C3%A9", { headers });
    expect(url).toBe("http://example.test:81/api/SEEN/a%2Fb%20c/?q=1&q=%C3%A9");
    expect(got).toMatchObject({ host: "Example.test:81", "x-forwarded-host": "evil.test" });
    expect(got).not.toHaveProperty("x-forwarded-for");
    expect(user).toBeNull();
  });

  it.each([
    ["/api/seen/a%2541", "a%41", "/api/seen/a%41"],
    ["/api/seen/a%252F", "a%2F", "/api/seen/a%2F"],
    ["/api/seen/a%2F", "a%2F", "/api/seen/a%2F"],
    ["/api/seen/a%25252F", "a%252F", "/api/seen/a%252F"],
    ["/api/seen/%C3%A9%E9%41%zz", "é%E9A%zz", "/api/seen/%C3%A9%E9A%25zz"],
    ["/api/seen/a%5C%20%5B+", "a\\ [+", "/api/seen/a%5C%20%5B+"],
    ["/api/other/../seen/a/%2e%2e/", undefined, "/api/seen/"],
    ["/api/seen/b/..", undefined, "/api/seen/"],
  ])("has a path that was decoded once and encoded again but for %%HH: %s", async (path, rest, address) => {
    const { params, url } = await see(path, { headers: { host: "h" } });
    expect([params.rest, url]).toEqual([rest, `http://h${address}`]);
  });

  it("shows its headers read as UTF-8, which the library accepts up to U+00FF", async () => {
    const get = (value: string) =>
      exchange(host, `GET /api/seen HTTP/1.1\r\nHost: h\r\nConnection: close\r\nX: ${value}\r\n\r\n`);
    expect(await get(Buffer.from("Grüße").toString("latin1"))).toContain(Buffer.from('"x":"Grüße"').toString("latin1"));
    expect(await get(Buffer.from("☕").toString("latin1"))).toMatch(/^HTTP\/1.1 500 [\s\S]*\r\nContent-Length: 0\r\n/);
    expect(await get("\xe9")).toMatch(/^HTTP\/1.1 400 /);
    expect(await get("a\x01b\x7fc")).toMatch(/^HTTP\/1.1 200 /);
  });

  it("may have an unknown expectation, bare line feeds, and a length together with chunks", async () => {
    expect((await see("/api/seen", { headers: { expect: "foo" } })).headers.expect).toBe("foo");
    expect(await exchange(host, "GET /api/seen HTTP/1.1\nHost: h\nConnection: close\n\n")).toMatch(/^HTTP\/1.1 200 /);
    const both = "Content-Length: 2\r\nTransfer-Encoding: chunked\r\nConnection: close\r\n\r\n2\r\nhi\r\n0\r\n\r\n";
    expect(await exchange(host, `POST /api/seen HTTP/1.1\r\nHost: h\r\n${both}`)).toContain('"body":""');
  });

  it("shows every header, repeats joined without a blank", async () => {
    const answer = await exchange(
      host,
      "POST /api/seen HTTP/1.1\r\nHost: h\r\nX-Twice: a\r\nX-Twice: b\r\nAuthorization: Bearer t\r\nCookie: c=1\r\n" +
        "X-Functions-Key: k\r\nContent-Length: 2\r\nConnection: close\r\n\r\nhi",
    );
    expect(answer).toContain('"x-twice":"a,b"');
    for (const name of ["authorization", "cookie", "x-functions-key", "content-length", "host"])
      expect(answer).toContain(`"${name}":`);
  });

  it("has one query value a name, repeats joined by a comma, while the address keeps them", async () => {
    const { query, url } = await see("/api/seen?a=1&a=2&A=3&b=&c&d=x%20y+z");
    expect(query).toEqual([
      ["a", "1,2,3"],
      ["b", ""],
      ["c", ""],
      ["d", "x y z"],
    ]);
    expect(url).toContain("?a=1&a=2&A=3&b=&c&d=x%20y+z");
  });

  it("may have an encoded NUL in its query", async () => {
    expect((await see("/api/seen?a=%00")).query).toEqual([["a", "\0"]]);
  });

  it("has its route's parameters, absent ones left out", async () => {
    expect((await see("/api/seen/a/b%2Fc/d")).params).toEqual({ rest: "a/b%2Fc/d" });
    expect((await see("/api/seen/")).params).toEqual({});
  });

  it("carries no trace and no retry context", async () => {
    const { traceParent, retryContext } = await see("/api/seen", { headers: { traceparent: "00-1-2-01" } });
    expect([traceParent, retryContext]).toEqual(["", null]);
  });

  it("brings its body unchanged, as text, JSON, form and multipart", async () => {
    const bytes = Buffer.from([0, 255, 13, 10, 128]);
    expect((await see("/api/seen", { method: "PUT", body: bytes })).body).toBe(bytes.toString("base64"));
    expect((await call(host, "/api/body-as/text", { method: "POST", body: "größe {" })).text).toBe("größe {");
    expect((await call(host, "/api/body-as/json", { method: "POST", body: '{"a":"é"}' })).text).toBe('{"a":"é"}');
    expect((await call(host, "/api/body-as/json", { method: "POST", body: "{" })).status).toBe(500);
    const form = { "content-type": "application/x-www-form-urlencoded" };
    const fields = await call(host, "/api/body-as/form", { method: "POST", body: "a=1&a=%C3%A9+2", headers: form });
    expect(JSON.parse(fields.text)).toEqual([
      ["a", "1"],
      ["a", "é 2"],
    ]);
    const parts = new FormData();
    parts.set("a", "größe");
    const multipart = new Response(parts);
    const type = { "content-type": multipart.headers.get("content-type") ?? "" };
    const body = Buffer.from(await multipart.arrayBuffer());
    const answer = await call(host, "/api/body-as/form", { method: "POST", body, headers: type });
    expect(JSON.parse(answer.text)).toEqual([["a", "größe"]]);
  });

  it("loses its body with GET, not with DELETE", async () => {
    const got = await see("/api/seen", { body: "lost" });
    expect([got.body, got.headers["content-length"]]).toEqual(["", "4"]);
    expect((await see("/api/seen", { method: "DELETE", body: "kept" })).body).toBe(
      Buffer.from("kept").toString("base64"),
    );
  });

  it("loses a chunked body, and keeps the header that shows it", async () => {
    const got = await see("/api/seen", { method: "POST", body: "x".repeat(1_000_000), chunked: true });
    expect([got.body, got.headers["transfer-encoding"]]).toEqual(["", "chunked"]);
  });

  it("is 500 if its length is more than 100 MiB", async () => {
    const answer = await exchange(
      host,
      `POST /api/seen HTTP/1.1\r\nHost: h\r\nContent-Length: ${defaultBodyLimit + 1}\r\n\r\n`,
    );
    expect(answer).toMatch(/^HTTP\/1.1 500 /);
    expect(answer).toMatch(/connection: close/i);
    expect(answer).toMatch(/\r\nContent-Length: 0\r\n\r\n$/);
  });

  it("is 414 with a request line over 8,170 bytes and 431 with headers over 32 KiB", async () => {
    const around = "GET /api/seen? HTTP/1.1".length;
    expect((await call(host, `/api/seen?${"x".repeat(8171 - around)}`)).status).toBe(414);
    expect((await see(`/api/seen?${"x".repeat(8170 - around)}`)).method).toBe("GET");
    expect(await exchange(host, `GET /api/seen HTTP/1.1\r\nHost: h\r\nX: ${"x".repeat(33_000)}\r\n\r\n`)).toMatch(
      /^HTTP\/1.1 431 /,
    );
    expect((await see("/api/seen", { headers: { x: "x".repeat(31_000) } })).headers.x).toHaveLength(31_000);
  });

  it("is 431 with 100 lines of headers", async () => {
    const lines = (count: number) => Array.from({ length: count }, (_, index) => `X-${index}: 1\r\n`).join("");
    const answerTo = (count: number) =>
      exchange(host, `GET /api/seen HTTP/1.1\r\nHost: h\r\nConnection: close\r\n${lines(count - 2)}\r\n`);
    expect(await answerTo(99)).toMatch(/^HTTP\/1.1 200 /);
    expect(await answerTo(100)).toMatch(/^HTTP\/1.1 431 /);
  });

  it("is 500 with an empty Host", async () => {
    expect(await exchange(host, "GET /api/seen HTTP/1.1\r\nHost:\r\n\r\n")).toMatch(/^HTTP\/1.1 500 /);
  });

  it.each([
    ["no Host", "GET /api/seen HTTP/1.1\r\n\r\n"],
    ["no Host of old", "GET /api/seen HTTP/1.0\r\n\r\n"],
    ["an encoded NUL in its path", "GET /api/seen/%00 HTTP/1.1\r\nHost: h\r\n\r\n"],
    ["two Hosts", "GET /api/seen HTTP/1.1\r\nHost: a\r\nHost: a\r\n\r\n"],
    ["a Host with a path", "GET /api/seen HTTP/1.1\r\nHost: a/b\r\n\r\n"],
    ["text that is no request", "hello\r\n\r\n"],
    ["a TLS hello", "\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03"],
    ["an invalid Host", "GET /api/seen HTTP/1.1\r\nHost: a b\r\n\r\n"],
    ["a bad header name", "GET /api/seen HTTP/1.1\r\nHost: h\r\nb d: 1\r\n\r\n"],
    ["two lengths", "POST /api/seen HTTP/1.1\r\nHost: h\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\n"],
    ["raw non-ASCII in the target", "GET /api/seen?\xe9 HTTP/1.1\r\nHost: h\r\n\r\n"],
    ["another host's address as target", "GET http://other/api/seen HTTP/1.1\r\nHost: h\r\n\r\n"],
  ])("is 400 with %s", async (_, text) => {
    const answer = await exchange(host, text);
    expect(answer).toMatch(/^HTTP\/1.1 400 /);
    expect(answer).toMatch(/connection: close/i);
  });
});

describe("a path and a method", () => {
  it("that no function has are 404 with an empty body, never 405", async () => {
    for (const path of ["/api", "/api/", "/favicon.ico", "/seen", "/api/none", "/api//seen", "/adm"]) {
      const { status, bytes, headers } = await call(host, path);
      expect([path, status, bytes.length, headers["content-length"]]).toEqual([path, 404, 0, ["0"]]);
    }
    for (const method of ["POST", "PUT", "DELETE", "PROPFIND", "TRACE", "HEAD", "OPTIONS"]) {
      const { status, bytes, headers } = await call(host, "/api/get-only", { method });
      expect([method, status, bytes.length, headers.allow]).toEqual([method, 404, 0, undefined]);
    }
    expect(await exchange(host, "FOO /api/seen HTTP/1.1\r\nHost: h\r\n\r\n")).toMatch(
      /^HTTP\/1.1 404 [\s\S]*\r\nContent-Length: 0\r\n/,
    );
  });

  it("are GET and POST if the function names none", async () => {
    expect((await call(host, "/api/default-methods")).status).toBe(200);
    expect((await call(host, "/api/default-methods", { method: "POST" })).status).toBe(200);
    expect((await call(host, "/api/default-methods", { method: "PUT" })).status).toBe(404);
  });

  it("HEAD and OPTIONS reach a function that lists them, without further headers of the host", async () => {
    const head = await call(host, "/api/head", { method: "HEAD" });
    expect([head.status, head.headers["content-length"], head.bytes.length]).toEqual([200, undefined, 0]);
    const options = await call(host, "/api/head", { method: "OPTIONS", headers: { origin: "http://o.test" } });
    expect([options.status, options.headers["access-control-allow-origin"]]).toEqual([200, undefined]);
  });

  it("of the root give a page of the host when no function has it", async () => {
    expect(await call(host, "/")).toMatchObject({ status: 200, text: expect.stringContaining("up and running") });
    expect((await call(host, "/", { method: "POST" })).status).toBe(200);
  });
});

describe("an answer", () => {
  const answer = (name: string) => call(host, `/api/answer/${name}`);

  it("is chunked when it has a body, with the library's content type", async () => {
    for (const [name, type, text] of [
      ["json", ["application/json"], '{"hello":"world"}'],
      ["text", ["text/plain;charset=UTF-8"], "größe"],
      ["typed", ["application/xml"], "<a/>"],
      ["bytes", undefined, "\0\ufffd"],
    ] as const) {
      const got = await answer(name);
      expect([got.status, got.headers["content-type"], got.text]).toEqual([200, type, text]);
      expect([got.headers["transfer-encoding"], got.headers["content-length"]]).toEqual([["chunked"], undefined]);
      expect(got.headers.date).toHaveLength(1);
    }
  });

  it("is 500 without a body if the handler throws or returns no object", async () => {
    for (const name of ["throws", "string"]) {
      const got = await answer(name);
      expect([got.status, got.bytes.length, got.headers["content-length"]]).toEqual([500, 0, ["0"]]);
    }
    expect(lines.join("\n")).toMatch(
      /error Function\.answer Executed 'Functions\.answer' \(Failed.*a secret of the handler/,
    );
  });

  it("is 204 for nothing and an empty 200 for an empty object", async () => {
    expect(await answer("nothing")).toMatchObject({ status: 204, text: "" });
    const empty = await answer("empty");
    expect([empty.status, empty.headers["content-length"]]).toEqual([200, ["0"]]);
  });

  it("has the function's status, without a body where HTTP has none", async () => {
    for (const status of [200, 302, 404, 418, 500, 503]) {
      expect(await call(host, `/api/status/${status}`)).toMatchObject({ status, text: "b" });
    }
    for (const status of [204, 304])
      expect(await call(host, `/api/status/${status}`)).toMatchObject({ status, text: "" });
  });

  it("is 500 for an invalid status", async () => {
    for (const status of [100, 999])
      expect(await call(host, `/api/status/${status}`)).toMatchObject({ status: 500, text: "" });
  });

  it("writes cookies as the host does: path added, lower case, value encoded", async () => {
    expect((await answer("cookies")).headers["set-cookie"]).toEqual([
      "a=1%20%3D%3B%C3%A9; max-age=60; path=/; secure; samesite=lax; httponly",
      "b=two; path=/",
    ]);
    expect((await answer("more-cookies")).headers["set-cookie"]).toEqual([
      "c=it%27s%20%28%21%2A%29; domain=example.test; path=/sub; samesite=none",
      "d=; expires=Thu, 01 Jan 2026 00:00:00 GMT; max-age=0; path=/; samesite=strict",
    ]);
  });

  it("keeps only the last Set-Cookie header, beside those of the cookies array", async () => {
    expect((await answer("header-cookies")).headers["set-cookie"]).toEqual(["two=2"]);
    expect((await answer("both-cookies")).headers["set-cookie"]).toEqual(["one=1", "two=2; path=/"]);
  });

  it("is 500 when a header cannot be sent", async () => {
    const got = await answer("bad-cookie");
    expect([got.status, got.text, got.headers["x-mine"]]).toEqual([500, "", undefined]);
  });

  it("has the function's headers before the host's, and host.json's on every answer", async () => {
    const { headers } = await answer("headers");
    expect(headers).toMatchObject({ server: ["mine"], "cache-control": ["no-store"], "www-authenticate": ["Bearer"] });
    expect(headers["x-frame-options"]).toEqual(["DENY"]);
    expect((await answer("lengthy")).headers["content-length"]).toEqual(["4"]);
    for (const path of ["/api/answer/empty", "/api/answer/throws", "/nowhere"]) {
      expect((await call(host, path)).headers).toMatchObject({
        server: ["Kestrel"],
        "x-content-type-options": ["nosniff"],
        "x-frame-options": ["SAMEORIGIN"],
      });
    }
  });
});
