import { describe, expect, it, test } from "vitest";
import { clientPreflight } from "../../../../functions/auth/client/check-origin.ts";
import { origin, testAuth } from "../../../support/auth/test-auth.ts";

const app = "https://app.example.com";

const auth = await testAuth();
const open = auth.anotherInstance({ settings: { CLIENT_ALLOWED_ORIGINS: `${app}, https://other.example.com:8443` } });
const user = await auth.makeUser();

const credentials = () => user.credentials;
const authenticate = (headers: Record<string, string>, on = auth) =>
  on.post("/client/authenticate", credentials(), headers);
const error = "Pages of other origins may not call this API. To allow one, add its origin to CLIENT_ALLOWED_ORIGINS.";
const refused = { status: 403, body: { error } };

describe("pages of other sites", () => {
  test.each([
    { origin: "https://evil.example" },
    { origin: "null" },
    { origin: "https://auth.example.evil.example" },
    { origin: "https://auth.example:8443" },
    { origin: "nonsense" },
    { origin: app },
    { "sec-fetch-site": "cross-site" },
    { "sec-fetch-site": "Cross-Site" },
    { "sec-fetch-site": "same-site" },
    { "sec-fetch-site": "" },
    { "sec-fetch-site": "same-origin, cross-site" },
    { "sec-fetch-site": "same-origin", origin: "https://sibling.example" },
    { origin, "sec-fetch-site": "same-site" },
  ])("%j is refused: 403, before anything is done", async headers => {
    const before = auth.hashes();
    const response = await authenticate(headers as Record<string, string>);
    expect(response).toMatchObject(refused);
    expect(response.headers.get("access-control-allow-origin")).toBe(null);
    expect(auth.hashes()).toBe(before);
  });

  test.each([
    {},
    { origin },
    { origin, "sec-fetch-site": "same-origin" },
    { "sec-fetch-site": "same-origin" },
    { "sec-fetch-site": "none" },
  ])("%j is served, without CORS headers", async headers => {
    const response = await authenticate(headers as Record<string, string>);
    expect(response).toMatchObject({ status: 200, body: true });
    expect(response.headers.get("access-control-allow-origin")).toBe(null);
  });

  it("are not those of PUBLIC_BASE_URL, where a proxy calls the app by another host", async () => {
    const fronted = auth.anotherInstance({ settings: { PUBLIC_BASE_URL: "https://front.example.com/auth" } });
    const from = async (page: string, host: string) =>
      (await authenticate({ origin: page, host, "sec-fetch-site": "same-origin" }, fronted)).status;
    const front = "https://front.example.com";
    expect([await from(front, "app.internal"), await from(front, "front.example.com")]).toEqual([200, 200]);
    for (const other of ["http://front.example.com", "https://front.example.com:8443", "https://evil.example"]) {
      expect(await from(other, "app.internal")).toBe(403);
    }
  });

  it("cannot log a user out or in, or change a password, by GET neither", async () => {
    const session = await auth.logIn(user);
    const fields = { ...credentials(), newpass: "another password", oldpass: user.password };
    const headers = { "sec-fetch-site": "cross-site", cookie: `__Host-Service-Session=${session}` };
    for (const path of ["logout", "password", "login", "status"])
      for (const method of ["GET", "POST"]) {
        const response = await auth.call(method, `/client/${path}`, { fields, headers });
        expect(response).toMatchObject({ ...refused, cookies: [] });
      }
    expect(await auth.lives(session)).toBe(true);
  });

  it("are served where CLIENT_ALLOWED_ORIGINS names their origin, with CORS headers on every answer", async () => {
    for (const allowed of [app, "https://other.example.com:8443"]) {
      for (const path of ["/client/authenticate", "/client/login", "/client/status"]) {
        const response = await open.post(path, credentials(), { origin: allowed, "sec-fetch-site": "cross-site" });
        expect(response.status).toBe(path === "/client/status" ? 401 : 200);
        expect(Object.fromEntries(response.headers)).toMatchObject({
          "access-control-allow-origin": allowed,
          "access-control-allow-credentials": "true",
          "access-control-expose-headers": "retry-after, x-request-id",
          vary: "Origin",
        });
      }
    }
    for (const other of ["https://other.example.com", "http://app.example.com", `${app}.evil.example`, "null"]) {
      expect(await authenticate({ origin: other }, open)).toMatchObject(refused);
    }
  });

  it("are refused without Origin under any CLIENT_ALLOWED_ORIGINS: nothing says which page sent the call", async () => {
    for (const site of ["same-site", "cross-site"]) {
      const headers = { "sec-fetch-site": site, referer: `${app}/page` };
      expect(await authenticate(headers, open)).toMatchObject(refused);
      expect(await open.get("/client/logout", {}, headers)).toMatchObject(refused);
    }
  });

  it("do not apply to the Core API, which requires a token", async () => {
    expect((await auth.get("/core/users", {}, { origin: "https://evil.example" })).status).toBe(200);
  });
});

describe("a CORS preflight", () => {
  const preflightOf = (allowed: readonly string[], headers: Record<string, string>) =>
    clientPreflight(
      { rules: { allowedOrigins: allowed } },
      { strictTransport: false },
    )({
      method: "OPTIONS",
      url: new URL("/client/login", origin),
      params: {},
      headers: new Headers({ host: new URL(origin).host, ...headers }),
      invocationId: "the-invocation",
      body: new Uint8Array(),
    });

  it("of an allowed origin is answered 204 with what it may send", async () => {
    const response = await preflightOf([app], { origin: app, "access-control-request-method": "POST" });
    expect(response).toMatchObject({
      status: 204,
      headers: {
        "access-control-allow-origin": app,
        "access-control-allow-credentials": "true",
        "access-control-allow-methods": "GET, POST",
        "access-control-allow-headers": "content-type, x-service-session, x-service-device, x-request-id",
        "access-control-max-age": "600",
        "x-request-id": "the-invocation",
      },
    });
  });

  it("of another origin is refused: 403, also if no origin is allowed", async () => {
    for (const allowed of [[], [app]])
      expect(await preflightOf(allowed, { origin: "https://evil.example" })).toMatchObject(refused);
  });
});
