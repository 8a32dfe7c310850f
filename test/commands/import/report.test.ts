import { parse } from "csv-parse/sync";
import { describe, expect, it } from "vitest";
import type { ImportKey } from "../../../commands/import/formats/parsed-lines.ts";
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

describe("progress", () => {
  const write = (isTTY: boolean) => {
    let written = "";
    return { isTTY, columns: 40, write: (text: string) => (written += text), written: () => written };
  };

  it("is one line on a terminal, above which refused lines stay, and no line where it is written to a file", () => {
    for (const isTTY of [true, false]) {
      const terminal = write(isTTY);
      let now = 0;
      const screen = createScreen(terminal, terminal, () => now);
      const tried = createProgress(screen, 3, () => now);
      for (const [index, outcome] of (["imported", "refused", "imported"] as const).entries()) {
        now += 1000;
        tried(lineOf({ line: index, outcome }), index + 1);
      }
      screen.endProgress();
      screen.result("done");
      const text = ["1 of 3 keys, 1 a second, about 2 s left", "2 of 3 keys, 1 a second, about 1 s left"];
      const refusal = "keys.csv:1: refused: no key\n";
      const clear = "\r\x1b[2K";
      expect(terminal.written()).toBe(
        isTTY
          ? `${text[0]}${clear}${refusal}${text[0]}${clear}${text[1]}${clear}3 of 3 keys, 1 a second${clear}done\n`
          : `${text[0]}\n${refusal}${text[1]}\n3 of 3 keys, 1 a second\ndone\n`,
      );
    }
  });

  it("is drawn at most ten times a second, and never longer than the terminal is wide", () => {
    const terminal = write(true);
    let now = 0;
    const screen = createScreen(terminal, terminal, () => now);
    for (now = 0; now < 1000; now += 10) screen.progress(() => "x".repeat(100), true);
    const drawn = terminal.written().split("\r\x1b[2K");
    expect(drawn).toHaveLength(10);
    expect(drawn.every(text => text === "x".repeat(39))).toBe(true);
  });
});
