import { describe, expect, it, test, vi } from "vitest";
import { client, core } from "../../../functions/auth/routes.ts";
import { newName, newPassword, type TestAuth, testAuth } from "../../support/auth/test-auth.ts";

const auth = await testAuth();
const user = await auth.makeUser();

const multipart = (fields: Readonly<Record<string, string>>) => {
  const parts = Object.entries(fields).map(
    ([name, value]) => `--cut\r\ncontent-disposition: form-data; name="${name}"\r\n\r\n${value}\r\n`,
  );
  return {
    headers: { "content-type": "multipart/form-data; boundary=cut" },
    body: `${parts.join("")}--cut--\r\n`,
  };
};

const ways: readonly (readonly [string, (fields: Record<string, string>) => Parameters<TestAuth["call"]>[2]])[] = [
  ["a form", fields => ({ fields })],
  [
    "a form that names its charset",
    fields => ({
      headers: { "content-type": "Application/X-WWW-Form-Urlencoded; charset=UTF-8" },
      body: new URLSearchParams(fields).toString(),
    }),
  ],
  ["a multipart form", multipart],
  ["a JSON object", fields => ({ body: JSON.stringify(fields) })],
];

describe("parameters", () => {
  test.each(ways)("of a POST may come in %s", async (_, send) => {
    const [name, password] = [newName(), `pass &=+% é 🔑 ${newPassword()}`];
    expect((await auth.call("POST", "/core/users", send({ username: name, password }))).status).toBe(201);
    expect((await auth.call("POST", `/core/users/${name}/validate`, send({ password }))).body).toEqual({
      valid_password: true,
      valid_otp: false,
    });
    expect((await auth.call("POST", "/client/authenticate", send({ username: name, password }))).body).toBe(true);
    expect((await auth.call("POST", "/client/login", send({ username: name, password }))).status).toBe(200);
  });

  it("of a POST may come in the query, and beside a body; the body wins", async () => {
    const fields = user.credentials;
    const query = new URLSearchParams(fields);
    expect((await auth.call("POST", `/client/authenticate?${query}`)).body).toBe(true);
    const beside = (inQuery: object, inBody: Record<string, string>) =>
      auth.call("POST", `/client/authenticate?${new URLSearchParams({ ...inQuery })}`, { fields: inBody });
    expect((await beside({ username: user.name }, { password: user.password })).body).toBe(true);
    expect((await beside({ ...fields, password: "wrong" }, { password: user.password })).body).toBe(true);
    expect((await beside(fields, { password: "wrong" })).body).toBe(false);
  });

  it("in JSON may be null, which is as if absent", async () => {
    const body = JSON.stringify({ ...user.credentials, otp: null });
    expect((await auth.call("POST", "/client/authenticate", { body })).body).toBe(true);
    const response = await auth.call("POST", "/core/users", {
      body: JSON.stringify({ username: "x", password: null }),
    });
    expect(response).toMatchObject({ status: 400, body: { error: "Missing required parameter(s)! password" } });
  });

  it("that are unknown are ignored", async () => {
    const fields = { ...user.credentials, remember: "me", __proto__x: "y" };
    expect((await auth.post("/client/authenticate?$top=x&constructor=y", fields)).body).toBe(true);
  });
});

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
  const calls = Object.values(core.endpoints).flatMap(({ routes }) =>
    routes.map(route => route.replace(/\{\w+\}/g, "x").split(" ") as [string, string]),
  );

  test.each(calls)("no caller without a token: %s /core%s", async (method, path) => {
    for (const authorization of [
      "",
      "Basic dXNlcjpwYXNz",
      "Bearer",
      "Bearer nonsense",
      `Bearer core_00000000_${"A".repeat(43)}`,
    ]) {
      const { status, headers, body } = await auth.call(method, `/core${path}`, { headers: { authorization } });
      expect({ status, body }).toEqual({ status: 401, body: { error: expect.any(String) } });
      expect(headers.get("www-authenticate")).toBe("Bearer");
    }
  });

  it("no caller with a token of the other service: 403", async () => {
    const headers = { authorization: `Bearer connector_00000000_${"A".repeat(43)}` };
    const { status, body, headers: responseHeaders } = await auth.call("GET", "/core/users", { headers });
    expect({ status, body }).toEqual({ status: 403, body: { error: "The token belongs to another API." } });
    expect(responseHeaders.get("www-authenticate")).toBe(null);
  });

  it("no caller at all if no kind of token is configured", async () => {
    const closed = auth.anotherInstance({ settings: { CALLER_STATIC_TOKENS: "false" } });
    expect((await closed.get("/core/users")).status).toBe(401);
  });

  it("a caller is known before anything of the request is looked at", async () => {
    const { status } = await auth.call("POST", "/core/users", { headers: { authorization: "" }, body: "{" });
    expect(status).toBe(401);
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
      Object.values(api.endpoints as Record<string, { routes: readonly string[] }>)
        .flatMap(endpoint => endpoint.routes)
        .sort();
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
      `GET /${segment}/{user}/otpkeys`,
      `GET /${segment}/{user}/otpkeys/{prefix}`,
      `DELETE /${segment}/{user}/otpkeys/{prefix}`,
      `POST /${segment}/{user}/otpkeys/{prefix}/delete`,
    ]);
    const tokens = [
      "GET /caller",
      "POST /api-tokens",
      "GET /api-tokens",
      "DELETE /api-tokens/{id}",
      "POST /api-tokens/{id}/delete",
    ];
    expect(routes(core)).toEqual(
      [
        ...attributes,
        ...ofUser,
        ...tokens,
        "POST /users",
        "POST /users/batch",
        "GET /users",
        "GET /users/{user}",
        "DELETE /users/{user}",
        "POST /users/{user}/delete",
        "POST /users/{user}/rename",
        "POST /users/{user}/reset",
        "GET /users/{user}/validate",
        "POST /users/{user}/validate",
        "POST /users/{user}/sessions/delete",
        "POST /users/{user}/unlock",
        "POST /users/{user}/disable",
        "POST /users/{user}/enable",
        "GET /users/{user}/lock",
        "GET /otpkeys",
        "POST /otpkeys",
        "POST /otpkeys/batch",
        "GET /otpkeys/{prefix}",
        "DELETE /otpkeys/{prefix}",
        "POST /otpkeys/{prefix}/delete",
        "POST /otpkeys/{prefix}/enable",
        "POST /otpkeys/{prefix}/disable",
        "POST /otpkeys/{prefix}/validity",
        "POST /otpkeys/{prefix}/temporary-code",
        "DELETE /otpkeys/{prefix}/temporary-code",
        "POST /otpkeys/{prefix}/temporary-code/delete",
      ].sort(),
    );
    expect(routes(client)).toEqual(
      ["authenticate", "login", "logout", "status", "password"]
        .flatMap(name => [`GET /${name}`, `POST /${name}`])
        .concat("POST /otpkeys")
        .sort(),
    );
  });

  it("a path or method beside them is nothing: 404", async () => {
    for (const [method, path] of [
      ["PUT", "/core/users"],
      ["DELETE", "/core/users"],
      ["GET", "/core/users/x/delete"],
      ["GET", "/core/users/x/reset"],
      ["GET", "/core/user/x"],
      ["DELETE", "/client/status"],
      ["GET", "/client/nothing"],
    ] as const) {
      expect((await auth.call(method, path)).status, `${method} ${path}`).toBe(404);
    }
  });
});

describe("every answer", () => {
  it("is never cached and has the request id, as every log line has", async () => {
    const session = await auth.logIn(user);
    const answers = await Promise.all([
      auth.get("/core/users", {}, { "x-request-id": "my-id.1" }),
      auth.get("/core/users/nobody", {}, { "x-request-id": "my-id.1" }),
      auth.get("/client/status", {}, { "x-request-id": "my-id.1", "x-service-session": session }),
      auth.post("/client/login", { username: user.name, password: "wrong" }, { "x-request-id": "my-id.1" }),
    ]);
    for (const { headers } of answers) {
      expect(Object.fromEntries(headers)).toMatchObject({
        "cache-control": "no-store",
        "x-content-type-options": "nosniff",
        "referrer-policy": "no-referrer",
        "x-request-id": "my-id.1",
      });
    }
    expect(auth.events("authentication").at(-1)).toMatchObject({ requestId: "my-id.1" });
    const odd = await auth.get("/client/status", {}, { "x-request-id": "a b<script>" });
    expect(odd.headers.get("x-request-id")).toMatch(/^[0-9a-f-]{36}$/);
  });
});
