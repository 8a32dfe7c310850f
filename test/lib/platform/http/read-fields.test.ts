import { describe, expect, it, vi } from "vitest";
import { Fault } from "../../../../lib/platform/fault.ts";
import type { Call } from "../../../../lib/platform/http/call.ts";
import { readFields } from "../../../../lib/platform/http/read-fields.ts";

interface Sent {
  readonly method?: string;
  readonly query?: string;
  readonly type?: string;
  readonly body?: string | Uint8Array;
}

function call({ method = "POST", query = "", type, body = "" }: Sent): Call {
  const bytes = typeof body === "string" ? Buffer.from(body) : body;
  const headers = new Headers({ "content-length": String(bytes.byteLength), ...(type && { "content-type": type }) });
  return {
    method,
    url: new URL(`http://127.0.0.1/users${query}`),
    params: {},
    headers,
    invocationId: "i",
    body: new Uint8Array(bytes),
  };
}

const read = (sent: Call, limitBytes = 1_048_576) => readFields(sent, limitBytes);
const form = "application/x-www-form-urlencoded";
const refusalOf = (sent: Sent) =>
  read(call(sent)).then(
    () => undefined,
    (error: unknown) => (error instanceof Fault ? { kind: error.kind, problems: error.problems } : error),
  );

describe("parameters of the authentication server", () => {
  it("come from the query for GET and from a form for POST", async () => {
    expect(await read(call({ method: "GET", query: "?username=ada&x=a+b%20c" }))).toEqual({
      username: "ada",
      x: "a b c",
    });
    expect(await read(call({ type: form, body: "username=ada&password=%C3%A9" }))).toEqual({
      username: "ada",
      password: "é",
    });
  });

  it("come from the body of a DELETE too, and from none of a GET", async () => {
    const sent = { query: "?a=1", type: form, body: "b=2" };
    expect(await read(call({ method: "DELETE", ...sent }))).toEqual({ a: "1", b: "2" });
    expect(await read(call({ method: "GET", ...sent }))).toEqual({ a: "1" });
  });

  it("also come from a multipart form, a JSON object and the query of a POST", async () => {
    const body = '--b\r\ncontent-disposition: form-data; name="username"\r\n\r\nada\r\n--b--\r\n';
    expect(await read(call({ type: "multipart/form-data; boundary=b", body }))).toEqual({ username: "ada" });
    expect(await read(call({ type: "application/json", body: '{"username":"ada"}' }))).toEqual({
      username: "ada",
    });
    expect(await read(call({ query: "?username=ada" }))).toEqual({ username: "ada" });
  });

  it("take the body's value where a field is in both places", async () => {
    expect(await read(call({ query: "?a=1&b=2", type: form, body: "a=3" }))).toEqual({ a: "3", b: "2" });
  });

  it("keep __proto__ as an ordinary name", async () => {
    const fields = await read(call({ type: form, body: "__proto__=x" }));
    expect(Object.keys(fields)).toEqual(["__proto__"]);
    expect(
      Object.getOwnPropertyNames(await read(call({ type: "application/json", body: '{"__proto__":"x"}' }))),
    ).toEqual(["__proto__"]);
  });

  it.each([
    ["a repeated query field", { method: "GET", query: "?a=1&a=2" }],
    ["a repeated form field", { type: form, body: "a=1&a=2" }],
  ])("are refused with %s", async (_, sent) => {
    expect(await refusalOf(sent)).toEqual({ kind: "invalid", problems: [{ path: "a", reason: "must be given once" }] });
  });

  it("do not show a repeated name that may be a secret", async () => {
    const problems = [{ path: "(name not shown)", reason: "must be given once" }];
    expect(await refusalOf({ type: form, body: "my secret&my secret" })).toEqual({ kind: "invalid", problems });
  });

  it.each(['{"password":"a secret&co"}', ' {"password":"a=b"}', '[{"password":"x"}]'])(
    "are asked for as application/json where a form is JSON: %s",
    async body => {
      await expect(read(call({ type: form, body }))).rejects.toMatchObject({
        kind: "unsupported_media",
        message: "Send JSON as application/json.",
      });
    },
  );

  it.each([
    ["escapes in a query", { method: "GET", query: "?a=%FF" }],
    ["escapes in a form", { type: form, body: "a=%C3%28" }],
    ["bytes of a form", { type: form, body: Uint8Array.of(0x61, 0x3d, 0xff) }],
    ["bytes of a multipart form", { type: "multipart/form-data; boundary=b", body: Uint8Array.of(0x2d, 0xff) }],
    ["a lone surrogate in JSON", { type: "application/json", body: '{"a":"\\ud800"}' }],
    ["a broken multipart form", { type: "multipart/form-data; boundary=b", body: "x" }],
    ["a JSON array", { type: "application/json", body: "[]" }],
  ])("are refused with 400 for %s", async (_, sent) => {
    expect(await refusalOf(sent)).toMatchObject({ kind: "invalid" });
  });

  const names = (count: number) => Array.from({ length: count }, (_, index) => `f${index}`);
  const multipart = (count: number) =>
    `${names(count)
      .map(name => `--cut\r\ncontent-disposition: form-data; name="${name}"\r\n\r\n\r\n`)
      .join("")}--cut--\r\n`;
  const inForms: readonly (readonly [string, (count: number) => Sent])[] = [
    ["a form", count => ({ type: form, body: names(count).join("=&") })],
    [
      "a JSON object",
      count => ({
        type: "application/json",
        body: JSON.stringify(Object.fromEntries(names(count).map(name => [name, { a: 1, b: [{}] }]))),
      }),
    ],
    ["a multipart form", count => ({ type: "multipart/form-data; boundary=cut", body: multipart(count) })],
    [
      "a multipart form with a quoted boundary",
      count => ({ type: 'multipart/form-data; boundary="cut"', body: multipart(count) }),
    ],
  ];

  it.each([
    "multipart/form-data; xboundary=none; boundary=cut",
    'multipart/form-data; x="; boundary=none"; boundary=cut',
    'multipart/form-data; boundary="c\\\\ut"',
  ])("are counted by the boundary that they are read by, in %s", async type => {
    const files = multipart(33).replaceAll(/(name="f\d+")/g, '$1; filename="f"');
    await expect(read(call({ type, body: files }))).rejects.toThrow(Fault);
  });

  it.each(inForms)("are at most 32 in %s", async (_, sent) => {
    expect(Object.keys(await read(call(sent(32))))).toEqual(names(32));
    expect(await refusalOf(sent(33))).toEqual({ kind: "too_large", problems: [] });
    expect(await refusalOf(sent(20_000))).toEqual({ kind: "too_large", problems: [] });
  });

  it.each(inForms)("are counted in %s before any is decoded", async (_, sent) => {
    const large = { ...sent(20_000), query: "?other=1" };
    const parse = vi.spyOn(URLSearchParams.prototype, Symbol.iterator);
    const formData = vi.spyOn(Response.prototype, "formData");
    const parseJson = vi.spyOn(JSON, "parse");
    try {
      await refusalOf(large);
      // Once for the query, which shows that the parser is observed.
      expect(parse).toHaveBeenCalledTimes(1);
      expect(formData).not.toHaveBeenCalled();
      expect(parseJson).not.toHaveBeenCalled();
    } finally {
      parse.mockRestore();
      formData.mockRestore();
      parseJson.mockRestore();
    }
  });

  it("are refused in a multipart form with long headers, before it is parsed", async () => {
    const formData = vi.spyOn(Response.prototype, "formData");
    const part = (headers: string) =>
      `--b\r\ncontent-disposition: form-data; name="a"\r\n${headers}\r\n${"x".repeat(3000)}\r\n--b--\r\n`;
    const type = "multipart/form-data; boundary=b";
    expect(await read(call({ type, body: part("a: b\r\n".repeat(300)) }))).toEqual({ a: "x".repeat(3000) });
    formData.mockClear();
    for (const body of [part("a: b\r\n".repeat(400)), `--b\r\n${"a: b\r\n".repeat(10_000)}`]) {
      expect(await refusalOf({ type, body })).toEqual({ kind: "too_large", problems: [] });
    }
    expect(formData).not.toHaveBeenCalled();
    formData.mockRestore();
  });

  it("are blanks where a form has plus signs, and plus signs where it has them escaped", async () => {
    expect(await read(call({ type: form, body: "a+b=+%2B+é+" }))).toEqual({ "a b": " + é " });
  });

  it("are refused in JSON with too many values inside, before it is parsed", async () => {
    const body = `{"a":[${"{},".repeat(5000)}{}]}`;
    expect(await refusalOf({ type: "application/json", body })).toEqual({ kind: "too_large", problems: [] });
  });

  it("are at most 32 in a query", async () => {
    expect(Object.keys(await read(call({ method: "GET", query: `?${names(32).join("&")}` })))).toEqual(names(32));
    for (const method of ["GET", "POST"]) {
      await expect(read(call({ method, query: `?${names(33).join("&")}` }))).rejects.toMatchObject({
        kind: "invalid",
        message: "The query must not have more than 32 parameters.",
      });
    }
  });

  it("come in a body of at most the given length", async () => {
    const sent = { type: form, body: `a=${"x".repeat(98)}` };
    expect(await read(call(sent), 100)).toEqual({ a: "x".repeat(98) });
    await expect(read(call(sent), 99)).rejects.toMatchObject({
      kind: "too_large",
      message: "The body must not be larger than 99 bytes.",
    });
  });

  it.each(["a=%C3%A9%41%E2%82%ACb", "a=%F0%9F%98%80&b=%c3%a9c%C3%A9"])("are decoded from %s", async body => {
    expect(await read(call({ type: form, body }))).toEqual(Object.fromEntries(new URLSearchParams(body)));
  });

  it.each(["a=%C3&b=%A9", "a=%C3x%A9", "a=%C3%41", "a=%A9", "a=%F0%9F%98"])(
    "are refused where escapes are no UTF-8 by themselves: %s",
    async body => expect(await refusalOf({ type: form, body })).toMatchObject({ kind: "invalid" }),
  );

  it("are refused in another content type", async () => {
    expect(await refusalOf({ type: "text/plain", body: "a=1" })).toMatchObject({ kind: "unsupported_media" });
    expect(await refusalOf({ body: "a=1" })).toMatchObject({ kind: "unsupported_media" });
  });

  it("let a percent sign that begins no escape stand for itself", async () => {
    expect(await read(call({ method: "GET", query: "?password=100%" }))).toEqual({ password: "100%" });
  });
});
