import { globSync, readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";

const maximum = 15;

/** The decisions of a page, and the parts of decisions that have a heading, with more than 15 lines that are not empty. */
function longDecisions(path: string, text: string): string[] {
  const [, ...decisions] = text.split(/^(?=#{2,3} )/m);
  return decisions.flatMap(decision => {
    const [heading = "", ...lines] = decision.split("\n");
    const count = lines.filter(line => line.trim() !== "").length;
    return count > maximum ? [`${path}: ${heading}: ${count} lines`] : [];
  });
}

describe("the decisions", () => {
  const paths = globSync("docs/decisions/*.md").filter(path => !path.endsWith("README.md"));

  it(`have at most ${maximum} lines each, empty ones not counted`, () => {
    expect(paths).toHaveLength(4);
    expect(paths.flatMap(path => longDecisions(path, readFileSync(path, "utf8")))).toEqual([]);
  });
});
