import { parse } from "csv-parse/sync";
import * as fc from "fast-check";
import { describe, expect, test } from "vitest";
import { toCsv } from "../../../../lib/platform/http/csv.ts";
import { forAll } from "../../../support/for-all.ts";

describe("CSV", () => {
  test("has a header line, a line for each record, and nothing for a missing value", () => {
    expect(toCsv(["a", "b"], [{ a: "1", b: "2" }, { b: "3" }])).toBe("a,b\r\n1,2\r\n,3\r\n");
    expect(toCsv(["a"], [])).toBe("a\r\n");
  });

  test.each(["=1+1", "+1", "-1", "@SUM(A1)", "\t=1", "\r=1", '=HYPERLINK("x","y")'])(
    "puts an apostrophe before %j, which a spreadsheet would calculate",
    text => {
      expect(parse(toCsv(["a"], [{ a: text }]))).toEqual([["a"], [`'${text}`]]);
    },
  );

  test("is read back as it was, whatever the texts have", () => {
    const cell = fc
      .string({ unit: fc.constantFrom("a", '"', ",", "\r", "\n", "'", " ", "é", ";") })
      .map(text => `a${text}`);
    forAll(fc.array(fc.tuple(cell, cell), { minLength: 1 }), rows => {
      const text = toCsv(
        ["a", "b"],
        rows.map(([a, b]) => ({ a, b })),
      );
      expect(parse(text, { recordDelimiter: "\r\n" })).toEqual([["a", "b"], ...rows]);
    });
  });
});
