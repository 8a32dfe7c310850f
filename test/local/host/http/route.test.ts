import { describe, expect, it } from "vitest";
import { parseRoute, routedPath } from "../../../../local/host/http/route.ts";

const match = (template: string, path: string) => parseRoute(template).match(routedPath(path));

describe("a route template", () => {
  it("ignores letter case and one slash at the end", () => {
    for (const path of ["/v2/Status", "/V2/STATUS", "/v2/status/"]) expect(match("v2/status", path)).toEqual({});
    for (const path of ["/v2//status", "/v2/status//", "/v2", "/v2/status/x"]) {
      expect(match("v2/status", path)).toBeUndefined();
    }
  });

  it("removes dot segments from the path, including encoded ones", () => {
    expect(match("api/hello", "/api/x/../hello")).toEqual({});
    expect(match("api/hello", "/api/x/%2e%2E/./hello")).toEqual({});
    expect(match("api/hello", "/../../api/hello")).toEqual({});
  });

  it("decodes parameters except the slash", () => {
    expect(match("{id}", "/a%20b%C3%A9%5C+%2F%2f")).toEqual({ id: "a bé\\+%2F%2f" });
    expect(match("{id}", "/a%FFb%zz")).toEqual({ id: "a%FFb%zz" });
    expect(match("{id}", "/a%FF%41")).toEqual({ id: "a%FFA" });
    expect(match("{id}", "/%ED%A0%80%C0%80")).toEqual({ id: "%ED%A0%80%C0%80" });
    expect(match("{id}", "/%2525")).toEqual({ id: "%25" });
  });

  it("returns the rest as one value, and none if there is no rest", () => {
    const template = "users/{id}/otpkeys/{*rest}";
    expect(match(template, "/users/7/otpkeys")).toEqual({ id: "7" });
    expect(match(template, "/users/7/otpkeys/")).toEqual({ id: "7" });
    expect(match(template, "/users/7/otpkeys/a/b%2Fc/d")).toEqual({ id: "7", rest: "a/b%2Fc/d" });
    expect(match("{*rest}", "/")).toEqual({});
  });

  it("leaves an optional parameter out", () => {
    const template = "opt/{a}/{b?}";
    expect(match(template, "/opt/1")).toEqual({ a: "1" });
    expect(match(template, "/opt/1/")).toEqual({ a: "1" });
    expect(match(template, "/opt/1/2")).toEqual({ a: "1", b: "2" });
    expect(match(template, "/opt")).toBeUndefined();
    expect(match(template, "/opt/1/2/3")).toBeUndefined();
    expect(match("{x?}", "/")).toEqual({});
  });

  it("never returns an empty parameter", () => {
    expect(match("{id}/x", "//x")).toBeUndefined();
  });

  it("matches parameters by their constraints", () => {
    expect(match("n/{n:int}", "/n/-12")).toEqual({ n: "-12" });
    expect(match("n/{n:int}", "/n/twelve")).toBeUndefined();
    expect(match("n/{n:int}", "/n/2147483648")).toBeUndefined();
    expect(match("{x:regex(^(?!home).*$)?}", "/other")).toEqual({ x: "other" });
    expect(match("{x:regex(^(?!home).*$)?}", "/")).toEqual({});
    expect(match("{x:regex(^(?!home).*$)?}", "/homely")).toBeUndefined();
    expect(match("{x:regex(^a{{2}}$)}", "/aa")).toEqual({ x: "aa" });
  });

  it("does not replace %SETTING%", () => {
    expect(match("%MYROUTE%/x", "/%MYROUTE%/x")).toEqual({});
  });

  it.each([
    ["/lead", "begins with a slash"],
    ["a//b", "empty segment"],
    ["{*rest}/more", "must come last"],
    ["{a?}/b", "only the last"],
    ["{a}-{b}", "more than one parameter"],
    ["{a", "more than one parameter"],
    ["{a:colour}", 'constraint "colour" is not known'],
  ])("refuses %s", (template, reason) => {
    expect(() => parseRoute(template)).toThrow(reason);
  });
});
