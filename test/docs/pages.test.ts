import { globSync, readFileSync } from "node:fs";
import { posix } from "node:path";
import { describe, expect, it } from "vitest";
import { readMarkdown } from "./markdown.ts";

const pages = globSync("{*,{docs,local,bench}/**/*}.md").map(path => path.replaceAll("\\", "/"));

/** Every file that a page links to, and every file that those pages link to, from `start` on. */
function reachableFrom(start: string): Set<string> {
  const reached = new Set([start]);
  for (const path of reached) {
    if (!path.endsWith(".md")) continue;
    for (const { target } of readMarkdown(readFileSync(path, "utf8")).links) {
      if (/^[a-z][a-z0-9+.-]*:/i.test(target)) continue;
      const [file = ""] = target.split("#");
      if (file !== "") reached.add(posix.join(posix.dirname(path), file));
    }
  }
  return reached;
}

/** Lines of 120 characters or more. Rows of tables and the targets of links do not count. */
const longLines = (path: string, text: string): string[] =>
  text.split("\n").flatMap((line, index) => {
    const counted = line.replace(/\]\([^)]*\)/g, "]()");
    return counted.length < 120 || /^\s*\|/.test(line) ? [] : [`${path}:${index + 1}: ${counted.length} characters`];
  });

describe("the documentation", () => {
  it("can be reached from docs/index.md, every file of docs/", () => {
    const reached = reachableFrom("docs/index.md");
    const files = globSync("docs/**/*.*").map(path => path.replaceAll("\\", "/"));
    expect(files.length).toBeGreaterThan(30);
    expect(files.filter(path => !reached.has(path))).toEqual([]);
  });

  it("leads from the README to docs/index.md", () => {
    expect(reachableFrom("README.md")).toContain("docs/index.md");
  });

  it("has lines under 120 characters", () => {
    expect(pages.length).toBeGreaterThan(20);
    expect(pages.flatMap(path => longLines(path, readFileSync(path, "utf8")))).toEqual([]);
  });

  it("has no table whose header is apart from its separator", () => {
    const broken = /^\|.*\|\n\n\|[-|]+$/m;
    expect(pages.filter(path => broken.test(readFileSync(path, "utf8")))).toEqual([]);
    expect("| a |\n\n|---|\n").toMatch(broken);
  });

  it("names only tests that exist", () => {
    const named = pages.flatMap(path =>
      [...readFileSync(path, "utf8").matchAll(/(?<![\w/-])test\/[\w./{},*<>-]*[\w/}*]/g)].map(([test]) => ({
        path,
        test,
      })),
    );
    expect(named.length).toBeGreaterThan(50);
    expect(named.filter(({ test }) => globSync(test.replace(/<[^>]*>/, "*")).length === 0)).toEqual([]);
  });

  it("may have long rows of tables and long links, but no long code", () => {
    const long = "x".repeat(130);
    expect(longLines("a.md", `| ${long} |\n[a](${long})\n`)).toEqual([]);
    expect(longLines("a.md", `\`\`\`\n${long}\n\`\`\`\n`)).toEqual(["a.md:2: 130 characters"]);
  });
});
