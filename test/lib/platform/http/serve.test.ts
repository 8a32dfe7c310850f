import * as fc from "fast-check";
import { describe, expect, it, vi } from "vitest";
import * as z from "zod";
import { Fault, type FaultDetails, type FaultKind } from "../../../../lib/platform/fault.ts";
import { bodyLimitBytes } from "../../../../lib/platform/http/read-body.ts";
import { echo, type Sent, served } from "./sample.ts";

const body = z.object({
  name: z.string().max(10),
  size: z.int().optional(),
  parts: z.array(z.object({ id: z.string() })).optional(),
});
const json = (value: unknown): Sent => ({ body: JSON.stringify(value) });
const throwing = (error: unknown) =>
  served(
    echo({
      handle: () => {
        throw error;
      },
    }),
  );

describe("every response", () => {
  const always = {
    "cache-control": "no-store",
    "x-content-type-options": "nosniff",
    "referrer-policy": "no-referrer",
    "x-request-id": "the-invocation",
  };

  it("forbids caching, sniffing and referrers, and in Azure requires TLS", async () => {
    const strict = { ...always, "strict-transport-security": "max-age=31536000; includeSubDomains" };
    expect((await served(echo()).send()).headers).toEqual(strict);
    expect((await served(echo({ body })).send(json({}))).headers).toEqual(strict);
    expect((await throwing(new Error("bug")).send()).headers).toEqual(strict);
    expect((await served(echo(), { strictTransport: false }).send()).headers).toEqual(always);
  });

  it("keeps what the endpoint says of itself", async () => {
    const answer = { status: 201, headers: { location: "/things/1", "cache-control": "no-cache" }, body: { a: 1 } };
    const reply = await served(echo({ handle: () => answer })).send();
    expect(reply).toMatchObject(answer);
  });

  it.each(["a", "A-z_0.9", "x".repeat(64)])("repeats the caller's request id %s, in every log line too", async id => {
    const { send, lines } = served(echo({ handle: () => ({ status: 204 }) }));
    expect((await send({ headers: { "x-request-id": id } })).headers?.["x-request-id"]).toBe(id);
    expect(lines).toEqual([
      {
        event: "http",
        requestId: id,
        invocationId: "the-invocation",
        api: "connector",
        route: "POST /things/{id}",
        status: 204,
      },
    ]);
  });

  it.each(["", " ", "x".repeat(65), "a b", "a,b", "ä", "<script>"])(
    "takes the invocation's id in place of %j",
    async id => {
      const { send, lines } = served(echo());
      expect((await send({ headers: { "x-request-id": id } })).headers?.["x-request-id"]).toBe("the-invocation");
      expect(lines[0]).toMatchObject({ requestId: "the-invocation" });
    },
  );

  it("leaves no query string and no parameter in the log", async () => {
    const { send, lines } = served(echo({ query: z.object({ pin: z.string() }) }));
    await send({ path: "things/hidden?pin=hidden" });
    expect(lines).toHaveLength(1);
    expect(JSON.stringify(lines)).not.toContain("hidden");
  });
});

describe("a call", () => {
  it("is checked for who calls before anything of it is read", async () => {
    const asked: string[] = [];
    const { send } = served(echo({ body, access: "caller" }), {
      identify: async access => {
        asked.push(access);
        throw new Fault("unauthenticated", "Who are you?");
      },
    });
    expect(await send({ body: "no json", headers: { "content-type": "text/plain" } })).toMatchObject({ status: 401 });
    expect(asked).toEqual(["caller"]);
  });

  it.each(["caller", "session", "session_without_refresh"] as const)(
    "never reaches a handler of access %s when no caller is identified",
    async access => {
      const { send } = served(echo({ access }), { identify: async () => ({}) });
      expect(await send({ body: "" })).toMatchObject({ status: 500 });
    },
  );

  it("reaches its handler with who calls, parsed input and the request id", async () => {
    const seen: unknown[] = [];
    const { send } = served(
      echo({
        params: z.object({ id: z.string() }),
        query: z.object({ top: z.coerce.number() }),
        body,
        handle: (input: unknown, _: unknown, { caller, requestId }: { caller: object; requestId: string }) => {
          seen.push(input, caller, requestId);
          return { status: 204 };
        },
      } as never),
    );
    await send({ path: "things/a%2Fb%20%C3%A9?top=3", ...json({ name: "n" }) });
    expect(seen).toEqual([
      { params: { id: "a%2Fb é" }, query: { top: 3 }, body: { name: "n" } },
      { kind: "tenant", application: "an-app" },
      "the-invocation",
    ]);
  });

  it("is refused with every problem of every place at once", async () => {
    const { send } = served(
      echo({ params: z.object({ id: z.string().max(2) }), query: z.object({ top: z.string() }), body }),
    );
    const reply = await send({ path: "things/long", ...json({ name: "much too long", size: 1.5, parts: [{}] }) });
    expect(reply).toMatchObject({
      status: 400,
      body: {
        problems: [
          { path: "id", reason: "must have at most 2 characters" },
          { path: "top", reason: "is required" },
          { path: "name", reason: "must have at most 10 characters" },
          { path: "size", reason: "must be a whole number" },
          { path: "parts[0].id", reason: "is required" },
        ],
      },
    });
  });

  it.each([
    ["X-Original-URL", "/things/.."],
    ["X-Original-URL", "/things/%2e%2E?top=3"],
    ["X-WAWS-Unencoded-URL", "/things/x/./y"],
    ["X-WAWS-Unencoded-URL", "https://auth.example/things/..%2Fx"],
    ["X-WAWS-Unencoded-URL", "/things/%2E%5cx"],
  ])("is refused with 400 where the original path in %s has dots as a segment: %s", async (name, path) => {
    const { send } = served(echo());
    expect(await send({ ...json({}), headers: { [name]: path } })).toMatchObject({
      status: 400,
      body: { message: "The path must not have . or .. as a segment." },
    });
    const same = path.replace(/(?:\.|%2e)+/gi, "dots").replace(/%2f|%5c/gi, "/");
    const sent = { ...json({}), path: "things/dots", headers: { [name]: `${same}?a=/../b` } };
    expect(await send(sent)).toMatchObject({ status: 200 });
  });

  it.each([
    ["/things/a%2562", "ab"],
    ["/things/a%2Fb", "b"],
    ["/things/a%5cb", "b"],
    ["/things/things%2Fthings", "things"],
    ["https://auth.example/things/a%252562?b", "a%62"],
  ])("is refused with 400 where Azure has passed on the path %s with the segment %s", async (path, segment) => {
    const { send } = served(echo({ params: z.object({ id: z.string() }) }));
    const asPassedOn = { ...json({}), path: `things/${encodeURIComponent(segment)}` };
    expect(await send({ ...asPassedOn, headers: { "x-waws-unencoded-url": path } })).toMatchObject({ status: 400 });
    expect(await send({ ...asPassedOn, headers: { "x-original-url": path } })).toMatchObject({ status: 200 });
    const same = `/things/${encodeURIComponent(segment)}/?b=/a`;
    expect(await send({ ...asPassedOn, headers: { "x-waws-unencoded-url": same } })).toMatchObject({ status: 200 });
  });

  it("is refused where a query parameter is repeated or no UTF-8", async () => {
    const { send } = served(echo({ query: z.object({ top: z.string() }) }));
    expect(await send({ path: "things/1?top=1&top=2" })).toMatchObject({
      status: 400,
      body: { problems: [{ path: "top", reason: "must be given once" }] },
    });
    expect(await send({ path: "things/1?top=%FF" })).toMatchObject({ status: 400 });
    expect(await send({ path: "things/1?top=1,2" })).toMatchObject({ status: 200, body: { query: { top: "1,2" } } });
  });
});

describe("a JSON body", () => {
  const { send } = served(echo({ body }));

  it.each<[number, string, Sent]>([
    [411, "is sent chunked", { ...json({ name: "n" }), headers: { "transfer-encoding": "chunked" } }],
    [411, "is sent chunked and packed", { ...json({ name: "n" }), headers: { "transfer-encoding": "gzip, Chunked" } }],
    [
      413,
      "says that it is over 1 MiB",
      { ...json({ name: "n" }), headers: { "content-length": String(bodyLimitBytes + 1) } },
    ],
    [
      413,
      "is over 1 MiB with any content",
      { body: " ".repeat(bodyLimitBytes + 1), headers: { "content-length": "1" } },
    ],
    [415, "has no content type", { ...json({ name: "n" }), headers: { "content-type": "" } }],
    [415, "is a form", { body: "name=n", headers: { "content-type": "application/x-www-form-urlencoded" } }],
    [415, "is text", { ...json({ name: "n" }), headers: { "content-type": "text/json" } }],
    [400, "is missing", { headers: { "content-type": "application/json" } }],
    [400, "is no JSON", { body: "{" }],
    [400, "is no object", json([])],
    [400, "is null", json(null)],
    [400, "is no UTF-8", { body: Uint8Array.of(0x22, 0xff, 0x22) }],
    [400, "holds a lone surrogate", { body: '{"name":"\\ud800"}' }],
    [400, "holds a lone surrogate in a name", { body: '{"name":"n","\\udc00":1}' }],
    [400, "holds a lone surrogate in an unknown field", { body: '{"name":"n","other":[{"deep":"\\ud800"}]}' }],
  ])("is refused with %i where it %s", async (status, _, sent) => {
    expect(await send(sent)).toMatchObject({ status });
  });

  it("that is sent chunked is refused with what to do, not with a missing field", async () => {
    const reply = await send({ headers: { "transfer-encoding": "chunked", "content-type": "application/json" } });
    expect(reply).toMatchObject({
      status: 411,
      body: { message: expect.stringContaining("Content-Length"), problems: [] },
    });
  });

  it("that is compressed is refused with what to do, and one that only names its charset as encoding is accepted", async () => {
    const headers = { "content-type": "application/json" };
    expect(
      await send({ body: Uint8Array.of(0x1f, 0x8b), headers: { ...headers, "content-encoding": "GZIP" } }),
    ).toMatchObject({ status: 415, body: { message: expect.stringContaining("uncompressed") } });
    expect(await send({ body: '{"name":"n"}', headers: { ...headers, "content-encoding": "utf-8" } })).toMatchObject({
      status: 200,
    });
  });

  it.each(["name", "parts"])("is refused where %s is an object whose length cannot be compared", async field => {
    const { send, lines } = served(echo({ body: body.extend({ parts: body.shape.parts.unwrap().max(2) }) }));
    const reply = await send(json({ name: "n", parts: [], [field]: { length: { toString: 1 } } }));
    expect(reply).toMatchObject({ status: 400, body: { kind: "invalid" } });
    expect(lines.map(({ event }) => event)).toEqual(["http"]);
  });

  it("names the place of ill-formed Unicode", async () => {
    const reply = await send({ body: '{"name":"n","parts":[{"id":"ok"},{"id":"\\ud800"}]}' });
    expect(reply.body).toMatchObject({ problems: [{ path: "parts[1].id", reason: "must be well-formed Unicode" }] });
  });

  it.each(["application/json", "Application/JSON ; charset=utf-8", "application/problem+json"])(
    "may be %s",
    async type => {
      expect(await send({ ...json({ name: "n" }), headers: { "content-type": type } })).toMatchObject({ status: 200 });
    },
  );

  it("may be of 1 MiB, nested 64 levels deep, with 10,000 values", async () => {
    const { send } = served(echo({ body, ignoresUnknown: true }));
    const start = '{"name":"n","text":"';
    const text = ",[{".repeat((bodyLimitBytes - start.length - 2) / 3);
    expect(await send({ body: `${start}${text}"}` })).toMatchObject({ status: 200, body: { body: { name: "n" } } });
    for (const other of [`${"[".repeat(63)}${"]".repeat(63)}`, `[${"0,".repeat(9996)}0]`]) {
      expect(await send({ body: `{"name":"n","other":${other}}` })).toMatchObject({ status: 200 });
    }
  });

  it.each([
    [
      "deeper than 64 levels",
      `${"[".repeat(64)}${"]".repeat(64)}`,
      "The body must not be nested deeper than 64 levels.",
    ],
    ["with more values", `[${"0,".repeat(9997)}0]`, "The body must not have more than 10000 values."],
    ["with more objects", `[${"{},".repeat(5000)}{}]`, "The body must not have more than 10000 values."],
  ])("is refused before it is parsed where it is %s", async (_, other, message) => {
    const parse = vi.spyOn(JSON, "parse");
    const body = `{"name":"n","other":${other}}`;
    const reply = await send({ body });
    expect(parse).not.toHaveBeenCalledWith(body);
    parse.mockRestore();
    expect(reply).toMatchObject({ status: 413, body: { message } });
  });

  it.each(["", "{}"])("of an endpoint that has none may be %j, of any content type", async body => {
    const headers = { "content-type": "application/x-www-form-urlencoded" };
    expect(await served(echo()).send({ body, headers })).toMatchObject({ status: 200 });
  });

  it.each([
    ['{"key_id":"k-1","dry_run":true}', ["key_id is not a known field", "dry_run is not a known field"]],
    ["[]", [" must be an object"]],
    ["null", [" must be an object"]],
    ["no json", []],
  ])("%j of an endpoint that has none is refused before the endpoint is called", async (body, problems) => {
    const handle = vi.fn();
    const reply = await served(echo({ handle })).send({ body });
    expect(reply).toMatchObject({ status: 400 });
    const found = (reply.body as { problems: { path: string; reason: string }[] }).problems;
    expect(found.map(({ path, reason }) => `${path} ${reason}`)).toEqual(problems);
    expect(handle).not.toHaveBeenCalled();
  });

  it.each([{ "transfer-encoding": "chunked" }, { "content-encoding": "gzip" }, { "content-length": "9999999" }])(
    "that is empty is accepted by an endpoint that has none, whatever the headers: %j",
    async headers => {
      expect(await served(echo()).send({ headers })).toMatchObject({ status: 200 });
    },
  );

  it("that is chunked and has a content type is refused by an endpoint that has none: the host has dropped it", async () => {
    const headers = { "transfer-encoding": "chunked", "content-type": "application/json" };
    expect(await served(echo()).send({ headers })).toMatchObject({ status: 411 });
  });

  it("that is not empty and compressed is refused by an endpoint that has none", async () => {
    const headers = { "content-encoding": "gzip" };
    expect(await served(echo()).send({ headers, body: "{}" })).toMatchObject({ status: 415 });
  });
});

describe("an unknown query parameter", () => {
  const known = z.object({ pin: z.string().optional() });
  const get = "GET /things/{id}" as const;
  it.each([
    ["a POST without a query", echo(), "has no parameters"],
    ["a POST with a query", echo({ query: known }), "accepts pin"],
    ["a GET with a query", echo({ routes: [get], query: known }), "accepts pin"],
    ["a GET with a query of no parameters", echo({ routes: [get], query: z.object({}) }), "has no parameters"],
  ])("is refused by %s", async (_, sample, has) => {
    const reply = await served(sample).send({ path: "things/1?foo=1&__proto__=x" });
    expect(reply).toMatchObject({
      status: 400,
      body: { problems: ["foo", "__proto__"].map(path => ({ path, reason: `is not known: the call ${has}` })) },
    });
  });

  it("is ignored by a GET without a query, which changes nothing", async () => {
    expect(await served(echo({ routes: [get] })).send({ path: "things/1?_=1" })).toMatchObject({ status: 200 });
  });
});

describe("an unknown field", () => {
  const ask = async (value: object) => {
    const { send, lines } = served(echo({ body, ignoresUnknown: true }));
    const { status, headers } = await send(json(value));
    return {
      status,
      header: headers?.["x-ignored-fields"],
      logged: lines.find(({ event }) => event === "ignored_fields"),
    };
  };

  it("is refused and named", async () => {
    const reply = await served(echo({ body })).send(
      json({ name: "n", nmae: 1, parts: [{ id: "1", ["__proto__"]: 1 }] }),
    );
    const problems = ["nmae", "parts[0].__proto__"].map(path => ({ path, reason: "is not a known field" }));
    expect(reply).toMatchObject({ status: 400, body: { problems } });
  });

  it("is ignored where the endpoint says so, and named in the answer and in the log", async () => {
    const { status, header, logged } = await ask({ name: "n", nmae: 1, parts: [{ id: "1", size: 1 }] });
    expect(status).toBe(200);
    expect(header).toBe("nmae, parts%5B0%5D.size");
    expect(logged).toMatchObject({ paths: ["nmae", "parts%5B0%5D.size"] });
  });

  it("is not spoken of where there is none", async () => {
    expect(await ask({ name: "n" })).toEqual({ status: 200, header: undefined, logged: undefined });
  });

  it("is named with at most 19 others, each short", async () => {
    const many = Object.fromEntries(Array.from({ length: 50 }, (_, index) => [`${index}`.padStart(100, "["), 1]));
    const paths = (await ask({ name: "n", ...many })).header?.split(", ") ?? [];
    expect(paths).toHaveLength(20);
    for (const path of paths) expect(path.length).toBeLessThanOrEqual(200);
  });

  it("cannot put anything into the header", async () => {
    const { header } = await ask({ name: "n", "a\r\nset-cookie: x": 1, [`x${"😀".repeat(101)}`]: 1, ["__proto__"]: 1 });
    expect(header).toBe("(name%20not%20shown), (name%20not%20shown), __proto__");
  });

  it("is of no interest where parameters are fields: those APIs take any", async () => {
    const { send } = served(echo({ body }), { input: "fields" });
    const reply = await send({
      body: "name=n&more=1",
      headers: { "content-type": "application/x-www-form-urlencoded" },
    });
    expect(reply).toMatchObject({ status: 200, body: { body: { name: "n" } } });
    expect(reply.headers).not.toHaveProperty("x-ignored-fields");
  });
});

describe("a schema that is built at its first use", () => {
  it.each(["json", "fields"] as const)("is built once for all calls with %s", async input => {
    const query = vi.fn(() => z.object({ top: z.string().optional() }));
    const fields = vi.fn(() => body);
    const sample = echo({ query: z.lazy(query), body: z.lazy(fields), check: () => [] });
    const { send } = served(sample, { input });
    for (const more of [{}, { more: 1 }, {}])
      await send({ path: "things/1?top=1&x=2", ...json({ name: "n", ...more }) });
    expect([query, fields].map(({ mock }) => mock.calls.length)).toEqual([1, 1]);
  });
});

describe("what goes wrong inside", () => {
  it("is a bare 500: no message, no stack, nothing foreign leaves", async () => {
    for (const error of [
      new TypeError("secret words"),
      { secret: "words" },
      "secret words",
      undefined,
      new Fault("invalid", "x", { cause: 1 }).cause,
    ]) {
      const { send, lines } = throwing(error);
      const reply = await send();
      expect(reply).toMatchObject({
        status: 500,
        body: { kind: "internal", message: "Internal error.", problems: [] },
      });
      expect(JSON.stringify(reply)).not.toContain("secret");
      expect(lines.filter(({ event }) => event === "failed")).toHaveLength(1);
    }
  });

  it("is logged whole, with the ids of the call", async () => {
    const { send, lines } = throwing(new TypeError("what went wrong", { cause: new Error("and why") }));
    await send({ headers: { "x-request-id": "r-1" } });
    expect(lines[0]).toMatchObject({
      event: "failed",
      requestId: "r-1",
      invocationId: "the-invocation",
      error: {
        name: "TypeError",
        message: "what went wrong",
        stack: expect.stringContaining("serve.test.ts"),
        cause: { message: "and why" },
      },
    });
  });

  it("is logged once: a 500 that repeats an earlier response is no new failure", async () => {
    const { send, lines } = throwing(new Fault("internal", "It is not known yet."));
    expect(await send()).toMatchObject({ status: 500, body: { message: "It is not known yet." } });
    expect(lines.map(({ event }) => event)).toEqual(["http"]);
  });

  it("is 503 with the time to wait, and logged, where something is away", async () => {
    const { send, lines } = throwing(
      new Fault("unavailable", "Storage is away.", { retryAfterSeconds: 7, cause: new Error("ECONNREFUSED") }),
    );
    expect(await send()).toMatchObject({
      status: 503,
      headers: { "retry-after": "7" },
      body: { message: "Storage is away." },
    });
    expect(lines[0]).toMatchObject({ event: "unavailable", error: { cause: { message: "ECONNREFUSED" } } });
  });

  it.each<[FaultKind, number, FaultDetails]>([
    ["invalid", 400, { problems: [{ path: "a", reason: "is wrong" }] }],
    ["not_found", 404, {}],
  ])("is no failure where it is a refusal: %s", async (kind, status, details) => {
    const { send, lines } = throwing(new Fault(kind, "Refused.", details));
    expect(await send()).toMatchObject({ status, body: { kind, message: "Refused.", ...details } });
    expect(lines.map(({ event }) => event)).toEqual(["http"]);
  });
});

describe("any input", () => {
  const anything = served(echo({ body, query: z.looseObject({ top: z.string().optional() }), ignoresUnknown: true }));
  const fields = served(echo({ body, query: z.object({ top: z.string().optional() }) }), { input: "fields" });
  const sent = fc.record({
    body: fc.oneof(
      fc.json(),
      fc.jsonValue({ noUnicodeString: false, maxDepth: 5 }).map(value => JSON.stringify(value)),
      fc
        .record({ name: fc.jsonValue(), size: fc.jsonValue(), parts: fc.jsonValue() }, { requiredKeys: [] })
        .map(value => JSON.stringify(value)),
      fc.string({ unit: "binary" }),
      fc.uint8Array({ maxLength: 200 }),
      fc.string({ maxLength: 10 }).map(name => JSON.stringify({ name })),
      fc.string({ maxLength: 10 }).map(name => new URLSearchParams({ name }).toString()),
      fc.webQueryParameters(),
    ),
    type: fc.constantFrom(
      "application/json",
      "application/x-www-form-urlencoded",
      "multipart/form-data; boundary=a",
      "multipart/form-data",
      "text/plain",
      "",
      ";",
      "application/json;charset=latin1",
    ),
    path: fc.tuple(fc.webPath(), fc.webQueryParameters()).map(([path, query]) => `things${path}?${query}`),
  });

  it.each([
    ["JSON", anything],
    ["fields", fields],
  ])("never becomes a 500 at an API of %s", async (_, { send, lines }) => {
    const statuses = new Set<number>();
    await fc.assert(
      fc.asyncProperty(sent, async ({ type, ...rest }) => {
        const { status } = await send({ ...rest, headers: { "content-type": type } });
        statuses.add(status);
        expect(status).toBeLessThan(500);
      }),
      { numRuns: 500 },
    );
    expect(statuses).toContain(200);
    expect(statuses).toContain(400);
    expect(statuses).toContain(415);
    expect(lines.filter(({ event }) => event === "failed")).toEqual([]);
  });
});

describe("outside Azure, an endpoint", () => {
  const fault = new Fault("conflict", "The name is taken.");
  const refusing = (more: Partial<Parameters<typeof echo>[0]>) =>
    echo({
      handle: () => {
        throw fault;
      },
      ...more,
    });
  const statusOf = async (sample: ReturnType<typeof echo>) =>
    (await served(sample, { onlyListed: true }).send()).status;

  it("answers 500 to a refusal that it does not list, and logs which", async () => {
    const { send, lines } = served(refusing({}), { onlyListed: true });
    expect((await send()).status).toBe(500);
    expect(JSON.stringify(lines)).toContain("The endpoint does not list this refusal.");
    expect(await statusOf(refusing({ refusals: ["conflict"] }))).toBe(599);
    expect((await served(refusing({})).send()).status).toBe(599);
  });

  it("answers 500 to a status, a header or CSV that it does not list", async () => {
    const location = { status: 200, headers: { location: "/things/1" } };
    const answers = { 200: { description: "Made.", headers: ["location"] as const } };
    expect(await statusOf(echo({ handle: () => ({ status: 201 }) }))).toBe(500);
    expect(await statusOf(echo({ handle: () => location }))).toBe(500);
    expect(await statusOf(echo({ handle: () => location, answers }))).toBe(200);
    const csv = { status: 200, csv: "a\r\n" };
    expect(await statusOf(echo({ handle: () => csv }))).toBe(500);
    expect(await statusOf(echo({ handle: () => csv, answers: { 200: { description: "A.", csv: true } } }))).toBe(200);
  });
});
