import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { call, type RawAnswer } from "../host/http/raw-request.ts";
import { masterKey, type StubSystem, startStubSystem, tokens } from "./stub-system.ts";

let system: StubSystem;
let port: number;
let own: Readonly<Record<string, string>>;

beforeAll(async () => {
  system = await startStubSystem({
    answer: ({ path }) =>
      path === "/v2/status"
        ? { status: 200, headers: { "set-cookie": "Service-Session=secret", "x-request-id": "id" }, body: { a: 1 } }
        : { status: 200, body: "<script>alert(1)</script>" },
  });
  port = Number(new URL(system.console.url).port);
  own = { host: `127.0.0.1:${port}`, "x-console": "1", "sec-fetch-site": "same-origin" };
});
afterAll(() => system.close());

let before: number;
beforeEach(() => {
  before = system.calls.length;
});

const get = (path: string, headers: Readonly<Record<string, string>>, method = "GET"): Promise<RawAnswer> =>
  call({ port }, path, { method, headers });

describe("the console has tokens, so it responds only to its own page", () => {
  test("its own page is answered, under either name of this machine", async () => {
    expect((await get("/api/host/v2/status", own)).status).toBe(200);
    const other = { ...own, host: `localhost:${port}`, origin: `http://localhost:${port}` };
    expect((await get("/api/host/v2/status", other)).status).toBe(200);
  });

  test.each([
    ["by a name that somebody else made point here", { host: "console.example" }],
    ["by this machine's name with another port", { host: "127.0.0.1:1" }],
    ["from a page of another origin", { origin: "http://evil.example" }],
    ["from a page on another port of this machine", { origin: "http://127.0.0.1:1" }],
    ["from a page without an origin", { origin: "null" }],
    ["from another site", { "sec-fetch-site": "cross-site" }],
    ["from another page of this machine", { "sec-fetch-site": "same-site" }],
    ["typed into the address bar", { "sec-fetch-site": "none" }],
  ])("a call is refused that comes %s, and goes no further", async (_, headers) => {
    for (const path of ["/api/host/v2/operations/process-shipments", "/api/facts", "/api/tokens", "/mails/1"]) {
      expect((await get(path, { ...own, ...headers })).status, path).toBe(403);
    }
    expect(system.calls.length).toBe(before);
  });

  test("a call without the page's own header is refused: no foreign page can send it unasked", async () => {
    const { "x-console": _, "sec-fetch-site": site, ...headers } = own;
    expect((await get("/api/host/v2/status", { ...headers, "sec-fetch-site": site ?? "" })).status).toBe(403);
    expect((await get("/api/host/v2/status", headers, "POST")).status).toBe(403);
    expect(system.calls.length).toBe(before);
  });

  test("no preflight is allowed", async () => {
    const preflight = { "access-control-request-method": "POST", "access-control-request-headers": "x-console" };
    const answer = await get("/api/host/v2/status", { ...own, ...preflight }, "OPTIONS");
    expect(Object.keys(answer.headers).filter(name => name.startsWith("access-control"))).toEqual([]);
  });

  test("the page's files may be opened by a link from anywhere, but only by a name of this machine", async () => {
    const linked = { host: `127.0.0.1:${port}`, "sec-fetch-site": "cross-site" };
    expect((await get("/", linked)).status).toBe(200);
    expect((await get("/main.ts", linked)).status).toBe(200);
    expect((await get("/lib/preact.js", linked)).status).toBe(200);
    expect((await get("/", { ...linked, host: "console.example" })).status).toBe(403);
  });
});

describe("what the console serves", () => {
  test("its files are the page's alone", async () => {
    for (const path of [
      "/../console.ts",
      "/..%2fconsole.ts",
      "/tsconfig.json",
      "/console.ts",
      "/lib/x.js",
      "//etc/passwd",
    ]) {
      expect((await get(path, own)).status, path).toBe(404);
    }
  });

  test("every page forbids what is not its own, and to be framed", async () => {
    const policy = (await get("/", own)).headers["content-security-policy"]?.[0] ?? "";
    expect(policy.split("; ")).toEqual(
      expect.arrayContaining([
        "default-src 'none'",
        // The hash is the import map's.
        expect.stringMatching(/^script-src 'self' 'sha256-[\w+/]+=*'$/),
        "require-trusted-types-for 'script'",
        "frame-ancestors 'none'",
      ]),
    );
    expect(policy).not.toContain("unsafe");
  });

  test("each API gets its own token, the Client API none, and maintenance the master key", async () => {
    await get("/api/host/core/users", own);
    await get("/api/host/v1/status", own);
    await get("/api/host/client/status", { ...own, "x-service-session": "session", cookie: "a=b" });
    await get("/api/host/maintenance/auth/back-up", own, "POST");
    const [core, connector, client, upkeep] = system.calls.slice(before).map(({ headers }) => headers);
    expect(upkeep?.["x-functions-key"]).toBe(masterKey);
    expect([core, connector, client].map(headers => headers?.["x-functions-key"])).toEqual(Array(3).fill(undefined));
    expect(core?.authorization).toBe(`Bearer ${tokens.core}`);
    expect(connector?.authorization).toBe(`Bearer ${tokens.connector}`);
    expect(client?.authorization).toBeUndefined();
    expect(client?.["x-service-session"]).toBe("session");
    expect(client?.cookie).toBeUndefined();
  });

  test("only the response with the tokens contains a token, none has a cookie, and markup is a value of JSON", async () => {
    const answers = await Promise.all(
      ["facts", "stories/1", "keys", "choices", "sample", "host/v2/status", "host/v2/x"].map(path =>
        get(`/api/${path}`, own),
      ),
    );
    expect(JSON.parse((await get("/api/tokens", own)).text)).toEqual(tokens);
    for (const { text, headers } of answers) {
      expect(text).not.toContain("_token");
      expect(text).not.toContain(masterKey);
      expect(text).not.toContain("Service-Session");
      expect(headers["set-cookie"]).toBeUndefined();
      expect(headers["content-type"]?.[0]).toMatch(/^application\/json/);
    }
  });

  test("calls go to the APIs, maintenance and timers of the host and to the controls of the peers, nowhere else", async () => {
    for (const path of [
      "/api/host/admin/host/status",
      "/api/host/admin/functions/v2CancelCredentialRequest",
      "/api/host/",
      "/api/peers/vault/requests",
      "/api/peers/mail",
      "/api/x",
    ]) {
      expect((await get(path, own)).status, path).toBe(404);
    }
    await get("/api/peers/mail/../../secrets", own);
    await get("/api/host/v2/..%2f..%2fadmin%2fhost", own);
    expect(system.calls.slice(before).map(({ url }) => url.pathname)).toEqual(["/v2/..%2f..%2fadmin%2fhost"]);
  });
});

describe("the API reference", () => {
  const proxied = (target: string, headers: Record<string, string> = own, method = "GET") =>
    get(`/reference/proxy?${new URLSearchParams({ scalar_url: target })}`, headers, method);

  test("calls the host only, without the headers of the browser's connection, and returns no cookie", async () => {
    const target = `${system.host.url}/v2/status`;
    const sent = { ...own, authorization: "Bearer t", cookie: "a=b", origin: `http://${own.host}`, "x-scalar-x": "1" };
    const answer = await proxied(target, sent);
    expect(answer.status).toBe(200);
    expect(answer.headers["set-cookie"]).toBeUndefined();
    const [call] = system.calls.slice(before);
    expect(call?.headers).toMatchObject({ authorization: "Bearer t", host: new URL(target).host });
    for (const name of ["cookie", "origin", "x-scalar-x"]) expect(call?.headers[name], name).toBeUndefined();
    for (const other of [`${system.mail.url}/x`, "nonsense", ""])
      expect((await proxied(other)).status, other).toBe(403);
  });

  test("serves its documents with the local tokens to its own page only", async () => {
    const { text } = await get("/reference/documents", own);
    const documents = JSON.parse(text);
    expect(documents.map(({ slug }: { slug: string }) => slug)).toEqual(["connector", "core", "client"]);
    for (const secret of [tokens.connector, tokens.core]) expect(text).toContain(secret);
    for (const path of ["/reference/documents", "/reference/proxy"])
      for (const site of ["cross-site", "same-site", "none"])
        expect((await get(path, { ...own, "sec-fetch-site": site })).status, `${path} ${site}`).toBe(403);
  });
});

test("a software key is kept only if the host has imported it, and its secret is not shown", async () => {
  let status = 409;
  const refusing = await startStubSystem({ answer: () => ({ status, body: { error: "prefix is taken" } }) });
  const { host, port: text } = new URL(refusing.console.url);
  const headers = { host, "x-console": "1", "content-type": "application/json" };
  const keys = async (method: string, body?: string) =>
    JSON.parse((await call({ port: Number(text) }, "/api/keys", { method, headers, ...(body && { body }) })).text);
  const fields = JSON.stringify({ kind: "hotp", prefix: "taken" });
  expect(await keys("POST", fields)).toMatchObject({ status: 409 });
  expect(await keys("GET")).toEqual([]);
  status = 201;
  await keys("POST", fields);
  expect(await keys("GET")).toEqual([{ prefix: "taken", kind: "hotp", digits: 6 }]);
  await refusing.close();
});

test("an API is not served if the host has no such path", async () => {
  const partial = await startStubSystem({ answer: ({ path }) => (path.startsWith("/core/") ? { status: 404 } : ok) });
  const { host, port: text } = new URL(partial.console.url);
  const headers = { host, "x-console": "1" };
  const facts = await call({ port: Number(text) }, "/api/facts", { headers });
  expect(JSON.parse(facts.text).apis).toEqual({ connector: true, core: false, client: true });
  await partial.close();
});

const ok = { status: 200, body: {} };

test("the console reports a host that does not respond", async () => {
  const alone = await startStubSystem();
  await alone.host.close();
  const itself = new URL(alone.console.url);
  const headers = { host: itself.host, "x-console": "1" };
  const answer = await call({ port: Number(itself.port) }, "/api/host/v2/status", { headers });
  expect(answer.status).toBe(502);
  expect(JSON.parse(answer.text).error).toMatch(/^The host is not responding: /);
  const facts = await call({ port: Number(itself.port) }, "/api/facts", { headers });
  expect(JSON.parse(facts.text).apis).toEqual({ connector: false, core: false, client: false });
  await alone.close();
});
