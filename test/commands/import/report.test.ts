import { parse } from "csv-parse/sync";
import { describe, expect, it, test } from "vitest";
import type { ImportKey } from "../../../commands/import/formats/check-key.ts";
import type { Line } from "../../../commands/import/lines.ts";
import { otpkeyImport } from "../../../commands/import/otpkey-import.ts";
import { createProgress } from "../../../commands/import/progress.ts";
import { reportOf } from "../../../commands/import/report.ts";
import { createScreen } from "../../../commands/import/screen.ts";

const rowsOf = (lines: readonly Line<ImportKey>[]) =>
  parse<Record<string, string>>(reportOf(lines, otpkeyImport.columns), { columns: true });

const lineOf = (parts: Partial<Line<ImportKey>>): Line<ImportKey> => ({
  file: "keys.csv",
  line: 1,
  outcome: "refused",
  reason: "no key",
  ...parts,
});

describe("the report of an import", () => {
  it.each(["=1+1", "+1", "-1", "@SUM(A1)", "|cmd", "%0", "\t=1", "\r=1", " =1", "＝1+1"])(
    "holds no formula for a spreadsheet: %j",
    text => {
      expect(rowsOf([lineOf({ file: text, reason: text })])).toMatchObject([{ file: `'${text}`, reason: `'${text}` }]);
    },
  );

  it.each(['say "no"', "one, two", "two\nlines", "a;b", "Ünïcode 😀", ""])("gives back what was said: %j", text => {
    const lines = [lineOf({ reason: text }), lineOf({ line: 2 })];
    const expected = lines.map(line => ({ ...line, line: String(line.line), prefix: "", kind: "" }));
    expect(rowsOf(lines)).toEqual(expected);
  });
});

test("progress is a line for every tenth, beside the refused lines", () => {
  const written = { out: "", error: "" };
  const stream = (name: "out" | "error") => ({ write: (text: string) => (written[name] += text) });
  let now = 0;
  const tried = createProgress(createScreen(stream("out"), stream("error")), 20, () => now);
  for (let count = 1; count <= 20; count++) {
    now += 1000;
    tried(lineOf({ line: count, outcome: count === 3 ? "refused" : "imported" }), count);
  }
  expect(written.out).toBe("keys.csv:3: refused: no key\n");
  const lines = written.error.split("\n");
  expect(lines).toHaveLength(11);
  expect(lines[0]).toBe("2 of 20 keys, 1 a second, about 18 s left");
  expect(lines[9]).toBe("20 of 20 keys, 1 a second");
});
