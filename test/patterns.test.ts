import { globSync, readFileSync } from "node:fs";
import { check } from "recheck";
import { describe, expect, it } from "vitest";
import { patternsIn } from "./checks/patterns.ts";

/** Patterns that are not linear for any text, and why the text that they see cannot make them slow. */
const exceptions: Readonly<Record<string, string>> = {
  "lib/platform/azure/transaction.ts: /^(DELETE \\S*,RowKey='(\\S*)'\\)\\S* HTTP\\/1\\.1\\r\\n(?:.+\\r\\n)*?If-Match: )\\*(?=\\r\\n)/gim":
    "It reads what the SDK wrote: the comma and equals sign of `,RowKey=` are encoded in keys, and every DELETE has its If-Match.",
};

const deployed = globSync("{lib,functions,commands}/**/*.ts")
  .toSorted()
  .flatMap(path =>
    patternsIn(path, readFileSync(path, "utf8")).map(pattern => ({
      pattern,
      name: `${path.replaceAll("\\", "/")}: ${pattern === undefined ? "built" : `/${pattern.source}/${pattern.flags}`}`,
    })),
  );

/** By the library's native program where it has one for this machine, else in JavaScript, which takes several times as long. */
const isLinear = async (source: string, flags: string): Promise<boolean> => {
  // A busy machine exceeds the limits of time of single matches, and then a linear pattern counts as slow. The number of
  // steps is limited anyway.
  const untimed = { attackTimeout: null, incubationTimeout: null, seedingTimeout: null };
  const { status } = await check(source, flags, { ...untimed, timeout: 60_000, randomSeed: 1 });
  return status === "safe";
};

describe("a regular expression of deployed code", { timeout: 120_000 }, () => {
  it("takes a time that is proportional to the length of the text", async () => {
    const slow: string[] = [];
    // Several modules have the same patterns.
    const checked = new Map<string, Promise<boolean>>();
    const isLinearOnce = ({ source, flags }: { readonly source: string; readonly flags: string }) => {
      const known = checked.get(`/${source}/${flags}`) ?? isLinear(source, flags);
      checked.set(`/${source}/${flags}`, known);
      return known;
    };
    for (const { name, pattern } of deployed) {
      if (name in exceptions) continue;
      if (pattern === undefined || !(await isLinearOnce(pattern))) slow.push(name);
    }
    expect(slow).toEqual([]);
  });

  it("that is excepted is still there", () => {
    const names = deployed.map(({ name }) => name);
    expect(Object.keys(exceptions).filter(name => !names.includes(name))).toEqual([]);
  });

  it.each([
    ["a run at the end that may begin anywhere", "=+$", ""],
    ["a word before a colon", "[A-Za-z_$][\\w$]*(?=\\s*:)", "g"],
    ["a repetition inside a repetition", "^(a+)+$", ""],
    ["a comment that does not end", "\\/\\*[\\s\\S]*?\\*\\/", "g"],
  ])("is found slow: %s", async (_, source, flags) => {
    expect(await isLinear(source, flags)).toBe(false);
  });

  it("is found in any position, also if it is built from text", () => {
    const module = 'const a = /x/g; f("y".replace(/z/, "")); new RegExp("(a+)+$"); RegExp(a);';
    expect(patternsIn("a.ts", module)).toEqual([
      { source: "x", flags: "g" },
      { source: "z", flags: "" },
      undefined,
      undefined,
    ]);
  });
});
