import { describe, expect, it } from "vitest";
import { readAudit, unusualLicences } from "../../../local/checks/audit-report.ts";

const vulnerable = {
  severity: "high",
  range: "<1.2.3",
  via: [{ title: "Reads too much", url: "https://example.com/a" }, "inner"],
  fixAvailable: { name: "outer", version: "2.0.0" },
};

describe("npm run audit", () => {
  it("lists every vulnerable package with its severity and the version that fixes it", () => {
    const output = JSON.stringify({
      auditReportVersion: 2,
      vulnerabilities: { outer: vulnerable, other: { ...vulnerable, via: [], fixAvailable: false } },
    });
    expect(readAudit(output)).toEqual({
      findings: [
        "high: outer <1.2.3: Reads too much https://example.com/a; by inner (mended by outer 2.0.0)",
        "high: other <1.2.3:  (no mend named)",
      ],
    });
  });

  it("finds nothing in a report without vulnerabilities", () => {
    expect(readAudit('{"auditReportVersion":2,"vulnerabilities":{}}')).toEqual({ findings: [] });
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
