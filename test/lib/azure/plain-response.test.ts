import { app, HttpResponse, type HttpResponseInit } from "@azure/functions";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { plainResponse } from "../../../lib/azure/plain-response.ts";
import { type LocalHost, startHost } from "../../../local/host/host.ts";
import { functionsCoreOfFile } from "../../support/host/functions-core-of-file.ts";

const contents: Readonly<Record<string, Parameters<typeof plainResponse>[0]>> = {
  json: {
    status: 200,
    headers: { "content-type": "application/json; charset=utf-8", "x-request-id": "a", "cache-control": "no-store" },
    body: '{"text":"größe"}',
  },
  refused: { status: 503, headers: { "retry-after": "3", "content-type": "application/json" }, body: "{}" },
  nothing: { status: 204, headers: {} },
  cookies: {
    status: 200,
    headers: { "content-type": "application/json" },
    body: "true",
    cookies: [
      { name: "a", value: "1 =;é", maxAge: 60, path: "/", secure: true, httpOnly: true, sameSite: "Lax" },
      { name: "b", value: "", maxAge: 0, path: "/", secure: true, httpOnly: true, sameSite: "None" },
    ],
  },
};

const core = functionsCoreOfFile();
let host: LocalHost;

beforeAll(async () => {
  for (const [name, { cookies, ...content }] of Object.entries(contents)) {
    const init = { ...content, ...(cookies && { cookies: [...cookies] }) } as HttpResponseInit;
    app.http(`${name}-plain`, { handler: async () => plainResponse({ ...content, cookies }) });
    app.http(`${name}-web`, { handler: async () => init });
  }
  host = await startHost(core, { port: 0, env: {} });
});
afterAll(() => host.stop());

describe("a plain response", () => {
  it.each(Object.keys(contents))("reaches the caller as one that the library makes: %s", async name => {
    const answers = await Promise.all(["plain", "web"].map(kind => fetch(`${host.url}/api/${name}-${kind}`)));
    const [plain, web] = await Promise.all(
      answers.map(async ({ status, headers, ...answer }, index) => ({
        ...answer,
        status,
        headers: [...headers].filter(([header]) => header !== "date"),
        text: await answers[index]?.text(),
      })),
    );
    expect(plain).toEqual(web);
    expect(plain?.status).toBe(contents[name]?.status);
  });

  it("counts as the library's own, which therefore makes no other", () => {
    expect(plainResponse({ status: 200, headers: {} })).toBeInstanceOf(HttpResponse);
  });

  it.each([
    ["value with a line break", { "x-a": "b\r\nset-cookie: c=d" }],
    ["value with a character above U+00FF", { "x-a": "☕" }],
    ["name with a line break", { "x-a\r\nx-b": "c" }],
    ["name in upper case", { "X-A": "b" }],
  ])("is not made with a %s", (_, headers) => {
    expect(() => plainResponse({ status: 200, headers: headers as Record<string, string> })).toThrow(TypeError);
  });
});
