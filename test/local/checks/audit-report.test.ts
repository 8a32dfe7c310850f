import { describe, expect, it } from "vitest";
import { readAudit, unusualLicences } from "../../../local/checks/audit-report.ts";

describe("npm run audit", () => {
  it("counts the vulnerable packages of a report", () => {
    expect(readAudit('{"vulnerabilities":{"outer":{},"inner":{}}}')).toEqual({ vulnerable: 2 });
    expect(readAudit('{"vulnerabilities":{}}')).toEqual({ vulnerable: 0 });
  });

  it.each([
    ["a registry that has none", '{"message":"405 Method Not Allowed","error":{"summary":"","detail":""}}', "405"],
    ["a network that is away", '{"error":{"summary":"getaddrinfo failed","detail":""}}', "getaddrinfo failed"],
    ["no answer at all", "", "no report"],
    ["a page of something else", "<html>", "no report"],
  ])("never takes %s for no finding", (_, output, expected) => {
    expect(readAudit(output)).toEqual({ unavailable: expect.stringContaining(expected) });
  });

  it("names licences of deployed packages that are not permissive, and those that are missing", () => {
    const packages = {
      "": {},
      test: {},
      "node_modules/tests": { link: true },
      "node_modules/good": { license: "MIT" },
      "node_modules/tool": { license: "GPL-3.0", dev: true },
      "node_modules/a/node_modules/copyleft": { license: "AGPL-3.0" },
      "node_modules/silent": {},
    };
    expect(unusualLicences(JSON.stringify({ packages }))).toEqual([
      "copyleft: licence AGPL-3.0",
      "silent: licence none named",
    ]);
  });
});
