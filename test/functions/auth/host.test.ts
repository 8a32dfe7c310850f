import { readdirSync, readFileSync } from "node:fs";
import { getPriority } from "node:os";
import { afterAll, describe, expect, it } from "vitest";
import { createAuthResources } from "../../support/auth/auth-resources.ts";
import { startMain } from "../main-process.ts";

const app = "https://app.example.com";
const { token, settings, bearer } = await createAuthResources();
const secrets = [token];
/** The deployed app in a process of its own, called over HTTP. */
const main = await startMain({
  ...settings,
  CLIENT_ALLOWED_ORIGINS: app,
  SESION_COOKIE_SECURE: "false",
  LOGGING_LEVEL_COM_SERVICE: "DEBUG",
});

afterAll(async () => {
  const events = await main.end();
  // The start warns of a variable that is almost a setting, and of no other.
  expect(events.filter(({ event }) => event === "setting_misspelt")).toMatchObject([
    { setting: "SESION_COOKIE_SECURE", nearest: "SESSION_COOKIE_SECURE" },
  ]);
  const lines = events.map(line => JSON.stringify(line));
  expect(lines.filter(line => line.includes('"authentication"')).length).toBeGreaterThan(2);
  for (const secret of secrets) expect(lines.filter(line => line.includes(secret))).toEqual([]);
});

const call = (method: string, path: string, init: RequestInit = {}) =>
  fetch(main.url + path, { method, ...init, headers: { ...bearer, ...(init.headers as Record<string, string>) } });
const post = (path: string, fields: Record<string, string> = {}, headers: Record<string, string> = {}) =>
  call("POST", path, { body: new URLSearchParams(fields), headers });
const create = async (username: string, password: string) => {
  secrets.push(password);
  return post("/core/users", { username, password });
};

describe("the deployed app over HTTP", () => {
  it("creates a user: 201 with an absolute `Location` that can be followed", async () => {
    const response = await create("ford prefect", "a towel, always");
    expect([response.status, response.headers.get("content-type")]).toEqual([201, "application/json; charset=utf-8"]);
    const { id } = (await response.json()) as { id: number };
    expect(response.headers.get("location")).toBe(`${main.url}/core/users/${id}`);
    const followed = await fetch(response.headers.get("location") ?? "", { headers: bearer });
    expect(await followed.json()).toEqual({ attributes: {}, otpkeys: [], id, name: "ford prefect", enabled: true });
  });

  it("sets the session as a cookie with Secure, HttpOnly, SameSite=Strict and Path=/, and clears it at logout", async () => {
    await create("arthur", "where is my tea?");
    const login = await post("/client/login", { username: "arthur", password: "where is my tea?" });
    expect(login.status).toBe(200);
    const { session } = (await login.json()) as { session: string };
    secrets.push(session);
    const [set = "", ...others] = login.headers.getSetCookie();
    expect(others).toEqual([]);
    const attributes = set.toLowerCase().split("; ").toSorted();
    expect(attributes).toEqual(
      [`__host-service-session=${session.toLowerCase()}`, "httponly", "path=/", "samesite=strict", "secure"].toSorted(),
    );
    const cookie = set.split(";")[0] ?? "";
    const status = await call("GET", "/client/status", { headers: { cookie: `a=b; ${cookie}` } });
    expect([status.status, await status.json()]).toEqual([
      200,
      expect.objectContaining({ username: "arthur", prefix: null }),
    ]);
    const logout = await post("/client/logout", {}, { cookie });
    expect([logout.status, await logout.text()]).toEqual([200, "true"]);
    expect(logout.headers.getSetCookie()).toEqual([expect.stringMatching(/^__Host-Service-Session=;.*max-age=0/i)]);
    expect((await post("/client/status", {}, { cookie })).status).toBe(401);
  });

  it("answers HEAD /health, with which proxies probe, as GET without the body", async () => {
    const [get, head] = [await call("GET", "/health"), await call("HEAD", "/health")];
    expect([get.status, await get.json()]).toEqual([200, { status: "ok" }]);
    expect([head.status, await head.text()]).toEqual([200, ""]);
    const ofConnection = ["connection", "date", "keep-alive", "transfer-encoding", "x-request-id"];
    const headersOf = ({ headers }: Response) => [...headers].filter(([name]) => !ofConnection.includes(name));
    expect(headersOf(head)).toEqual(headersOf(get));
  });

  it("names a scheme in the 401 of the Client API for which no browser asks for a password", async () => {
    for (const path of ["/client/status", "/client/login"]) {
      const refused = await post(path);
      expect([refused.status, refused.headers.get("www-authenticate")]).toEqual([401, "Session"]);
    }
  });

  it("requires a bearer token on the Core API only, and allows no other origin", async () => {
    const none = await call("GET", "/core/users", { headers: { authorization: "" } });
    expect([none.status, none.headers.get("www-authenticate")]).toEqual([401, "Bearer"]);
    const foreign = await post("/client/authenticate", {}, { origin: "https://evil.example" });
    expect([foreign.status, foreign.headers.get("access-control-allow-origin")]).toEqual([403, null]);
    const own = await post("/client/authenticate", {}, { origin: main.url });
    expect([own.status, own.headers.get("access-control-allow-origin")]).toEqual([200, null]);
  });

  it("answers a CORS preflight of an allowed origin on every path of the Client API", async () => {
    for (const path of ["authenticate", "login", "logout", "status", "password"]) {
      const preflight = (origin: string) =>
        fetch(`${main.url}/client/${path}`, {
          method: "OPTIONS",
          headers: { origin, "access-control-request-method": "POST" },
        });
      const allowed = await preflight(app);
      expect([allowed.status, allowed.headers.get("access-control-allow-origin")]).toEqual([204, app]);
      const refused = await preflight("https://evil.example");
      expect(refused.status).toBe(403);
      expect(await refused.json()).toMatchObject({ error: expect.stringContaining("CLIENT_ALLOWED_ORIGINS") });
    }
    expect((await fetch(`${main.url}/core/users`, { method: "OPTIONS", headers: { origin: app } })).status).toBe(404);
  });

  it.runIf(process.platform === "linux")(
    "gives the threads that hash passwords a lower priority than the event loop",
    async () => {
      const threads = `/proc/${main.pid}/task`;
      const isOfPool = (id: string) => readFileSync(`${threads}/${id}/comm`, "utf8").startsWith("libuv-worker");
      const eventLoop = getPriority(main.pid);
      const lower = () =>
        readdirSync(threads)
          .filter(isOfPool)
          .map(id => getPriority(Number(id)) - eventLoop);
      await expect.poll(lower, { timeout: 30_000 }).toEqual([5, 5, 5, 5]);
    },
  );

  it("answers a wrong method or path as the host does: 404", async () => {
    for (const [method, path] of [
      ["PUT", "/core/users"],
      ["PATCH", "/client/login"],
      ["GET", "/core/nothing"],
    ] as const) {
      expect((await call(method, path)).status).toBe(404);
    }
  });
});
