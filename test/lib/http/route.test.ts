import { describe, expect, it } from "vitest";
import { endpoint } from "../../../lib/http/endpoint.ts";
import { httpFunctions } from "../../../lib/http/register.ts";
import { hostTemplate, overlaps, pathParameters, type Route, routeParts } from "../../../lib/http/route.ts";
import { sampleSurface } from "./sample.ts";

const parts = (route: Route, prefix = "") => routeParts(route, prefix);
const parameters = (route: Route, path: string) => pathParameters(parts(route), new URL(`http://127.0.0.1${path}`));

describe("a route (decision G2)", () => {
  it("becomes the host's template, without a leading slash", () => {
    expect(hostTemplate(parts("GET /v2/things/{id}"))).toBe("v2/things/{id}");
    expect(hostTemplate(parts("GET /things", "fido/keys"))).toBe("fido/keys/things");
    expect(hostTemplate(parts("GET /things", "/fido/"))).toBe("fido/things");
  });

  it.each([
    ["/things/a", { id: "a" }],
    ["/things/a%2Fb", { id: "a/b" }],
    ["/things/%2525", { id: "%25" }],
    ["/things/%C3%A9+%20", { id: "é+ " }],
    ["/things/..%2f..", { id: "../.." }],
    ["/things/a?id=b#c", { id: "a" }],
  ])("decodes a parameter exactly once: %s", (path, expected) => {
    expect(parameters("GET /things/{id}", path)).toEqual(expected);
  });

  it.each(["%FF", "%", "%zz", "%C3%28"])("has no parameter where the path is no UTF-8: %s", segment => {
    expect(parameters("GET /things/{id}", `/things/${segment}`)).toBeUndefined();
  });

  it.each(["/users/%2e%2e/keys/a", "/users/%2E/keys/a", "/users/%2e%2e/keys/%2e"])(
    "has no parameter where dots have taken segments away, so that none is read for another: %s",
    path => {
      expect(parameters("GET /users/{user}/keys/{key}", path)).toBeUndefined();
    },
  );

  it("reads parameters where a prefix moves them", () => {
    expect(pathParameters(parts("GET /{a}/x/{b}", "fido/keys"), new URL("http://h/fido/keys/1/x/2"))).toEqual({
      a: "1",
      b: "2",
    });
  });
});

describe("two routes overlap", () => {
  it.each<[Route, Route, boolean]>([
    ["GET /a", "GET /a", true],
    ["GET /a", "GET /A", true],
    ["GET /a/{x}", "GET /a/{y}", true],
    ["GET /a/{x}", "GET /a/b", true],
    ["GET /{x}/b", "GET /a/{y}", true],
    ["GET /a", "POST /a", false],
    ["GET /a", "GET /a/b", false],
    ["GET /a/{x}", "GET /b/{x}", false],
    ["GET /{x}/b", "GET /{x}/c", false],
  ])("%s and %s: %s", (a, b, expected) => {
    expect(overlaps(parts(a), parts(b))).toBe(expected);
    expect(overlaps(parts(b), parts(a))).toBe(expected);
  });
});

describe("the functions of a surface", () => {
  it("are one for each template, named after the endpoint, with every method of it", () => {
    const one = endpoint<object>({
      routes: ["GET /a/{id}", "GET /b/{id}", "POST /a/{id}"],
      access: "open",
      summary: "",
      answers: {},
      handle: () => ({ status: 204 }),
    });
    const functions = httpFunctions(sampleSurface(one), "p");
    expect(functions.map(({ name, template, parts: of }) => [name, template, of.map(({ method }) => method)])).toEqual([
      ["sample", "p/a/{id}", ["GET", "POST"]],
      ["sample2", "p/b/{id}", ["GET"]],
    ]);
  });
});
