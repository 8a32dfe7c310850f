import { describe, expect, it, test, vi } from "vitest";
import { client, core } from "../../../functions/auth/routes.ts";
import { newName, testAuth } from "../../support/auth/test-auth.ts";

const auth = await testAuth();

it.each([
  ["/core/users", 327_680],
  ["/client/login", 65_536],
])("POST %s refuses a body of more than %i bytes: 413; a chunked one: 411 with the remedy", async (path, limit) => {
  const form = { "content-type": "application/x-www-form-urlencoded" };
  const bodyOf = (length: number) => `username=${"a".repeat(length - "username=".length)}`;
  expect((await auth.call("POST", path, { headers: form, body: bodyOf(limit) })).status).not.toBe(413);
  expect(await auth.call("POST", path, { headers: form, body: bodyOf(limit + 1) })).toMatchObject({
    status: 413,
    body: { error: `The body must not be larger than ${limit} bytes.` },
  });
  expect(
    await auth.call("POST", path, { headers: { ...form, "transfer-encoding": "chunked" }, body: "" }),
  ).toMatchObject({
    status: 411,
    body: { error: expect.stringContaining("Content-Length") },
  });
});

describe("a text that is too long to be a name or a password", () => {
  const marks = `a${"\u0301\u0316".repeat(2200)}`;

  test.each([
    ["/client/authenticate", 200],
    ["/client/login", 401],
    ["/core/users", 400],
  ])("is not normalised by %s: the marks of one megabyte would hold a host for minutes", async (path, status) => {
    const normalize = vi.spyOn(String.prototype, "normalize");
    try {
      for (const fields of [
        { username: marks, password: "x" },
        { username: marks, password: marks },
        { username: newName(), password: marks },
      ]) {
        expect((await auth.post(path, fields)).status).toBe(status);
      }
      expect(Math.max(0, ...normalize.mock.contexts.map(text => String(text).length))).toBeLessThan(marks.length);
    } finally {
      normalize.mockRestore();
    }
  });
});

describe("who may call the Core API", () => {
  it("no caller at all if no kind of token is configured", async () => {
    const closed = auth.anotherInstance({ settings: { CALLER_STATIC_TOKENS: "false" } });
    expect((await closed.get("/core/users")).status).toBe(401);
  });

  it("the Client API requires no token, and a session only where the specification requires one", () => {
    expect(Object.fromEntries(Object.entries(client.endpoints).map(([name, { access }]) => [name, access]))).toEqual({
      clientAssignOtpkey: "session",
      clientAuthenticate: "open",
      clientLogin: "open",
      clientLogout: "session_without_refresh",
      clientStatus: "session",
      clientPassword: "optional_session",
    });
    expect(new Set(Object.values(core.endpoints).map(({ access }) => access))).toEqual(new Set(["caller"]));
  });
});

describe("every route of the specification", () => {
  it("is there, by every method and in every equal form", () => {
    const routes = (api: { endpoints: object }) =>
      Object.values(api.endpoints as Record<string, { routes: readonly string[] }>).flatMap(({ routes }) => routes);
    const attributes = [
      "users/{user}",
      "otpkeys/{prefix}",
      "users/{user}/otpkeys/{prefix}",
      "user/{user}/otpkeys/{prefix}",
    ].flatMap(base => [
      `GET /${base}/attributes`,
      `POST /${base}/attributes`,
      `GET /${base}/attributes/{key}`,
      `DELETE /${base}/attributes/{key}`,
      `POST /${base}/attributes/{key}/delete`,
    ]);
    const ofUser = ["users", "user"].flatMap(segment => [
      `POST /${segment}/{user}/otpkeys`,
      `GET /${segment}/{user}/otpkeys/{prefix}`,
      `DELETE /${segment}/{user}/otpkeys/{prefix}`,
      `POST /${segment}/{user}/otpkeys/{prefix}/delete`,
    ]);
    const others = [
      "POST /users",
      "GET /users",
      "GET /users/{user}",
      "DELETE /users/{user}",
      "POST /users/{user}/delete",
      "POST /users/{user}/reset",
      "GET /users/{user}/validate",
      "POST /users/{user}/validate",
      "GET /otpkeys/{prefix}",
      "DELETE /otpkeys/{prefix}",
      "POST /otpkeys/{prefix}/delete",
    ];
    expect(routes(core)).toEqual(expect.arrayContaining([...attributes, ...ofUser, ...others]));
    const names = ["authenticate", "login", "logout", "status", "password"];
    const ofClient = names.flatMap(name => [`GET /${name}`, `POST /${name}`]);
    expect(routes(client)).toEqual(expect.arrayContaining(ofClient));
  });
});
