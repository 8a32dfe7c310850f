import { describe, expect, it } from "vitest";
import { httpFunctions, routeParts } from "../../../../lib/platform/http/api.ts";
import { endpoint, type Route } from "../../../../lib/platform/http/endpoint.ts";
import { routesOverlap } from "../../../functions/routes-overlap.ts";
import { sampleApi } from "./sample.ts";

const parts = (route: Route, prefix = "") => routeParts(route, prefix);

describe("a route", () => {
  it("becomes the host's template, without a leading slash", () => {
    expect(parts("GET /v2/things/{id}").template).toBe("v2/things/{id}");
    expect(parts("GET /things", "fido/keys").template).toBe("fido/keys/things");
    expect(parts("GET /things", "/fido/").template).toBe("fido/things");
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
    expect(routesOverlap(parts(a), parts(b))).toBe(expected);
    expect(routesOverlap(parts(b), parts(a))).toBe(expected);
  });
});

describe("the functions of an API", () => {
  it("are one for each template, named after the endpoint, with every method of it", () => {
    const one = endpoint<object>({
      routes: ["GET /a/{id}", "GET /b/{id}", "POST /a/{id}"],
      access: "open",
      summary: "",
      answers: {},
      handle: () => ({ status: 204 }),
    });
    const functions = httpFunctions(sampleApi(one), "p");
    expect(functions.map(({ name, template, methods }) => [name, template, methods])).toEqual([
      ["sample", "p/a/{id}", ["GET", "POST"]],
      ["sample2", "p/b/{id}", ["GET"]],
    ]);
  });
});
