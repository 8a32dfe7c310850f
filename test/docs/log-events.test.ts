import { globSync, readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";

/** The names in the first column of the tables of log events, and the two events that the page names in a sentence. */
const named = (() => {
  const [, section = ""] = /### Audit events([\s\S]*)\n## Spans/.exec(readFileSync("docs/telemetry.md", "utf8")) ?? [];
  const tables = section.split("\n\n").filter(part => part.startsWith("| Event |"));
  const cells = tables.flatMap(table => [...table.matchAll(/^\| (`[^|]+) \|/gm)].map(([, cell = ""]) => cell));
  const names = cells.flatMap(cell => [...cell.replace(/ of an .*| \(.*/, "").matchAll(/`([a-z._]+)`/g)]);
  return [...new Set([...names.map(([, name = ""]) => name), "bad_settings", "not_started"])];
})();

const textOf = (files: string) =>
  globSync(files)
    .map(path => readFileSync(path, "utf8"))
    .join("\n");
const code = textOf("{lib,functions}/**/*.ts");
/** Not the tests of docs/ and infra/, which compare texts. An event that must be absent is no event that was seen. */
const tests = textOf("test/{lib,functions}/**/*.ts").replaceAll(/.*toEqual\(\[\]\).*/g, "");

/** A name of one word also stands in tests for other things. */
const assertion = (name: string): RegExp => {
  const text = name.replaceAll(".", "\\.");
  if (/[._]/.test(name)) return new RegExp(`[" ]${text}"|\\b${text}: async`);
  return new RegExp(`(events\\("|event: "|event === "|"message":")${text}"`);
};

describe("the log events of docs/telemetry.md", () => {
  it("are found", () => {
    expect(named.length).toBeGreaterThan(110);
  });

  it("are those that the code logs", () => {
    expect(named.filter(name => !code.includes(`"${name}"`))).toEqual([]);
  });

  it("are each asserted by a test, so that none is lost with the line that logs it", () => {
    expect(named.filter(name => !assertion(name).test(tests))).toEqual([]);
  });
});
