import { globSync, readFileSync } from "node:fs";
import { expect, test } from "vitest";

/** The texts of the code: a template's values are any text, adjacent texts are one. */
const texts = globSync("{lib,functions,commands,local}/**/*.{ts,mjs}")
  .map(path => readFileSync(path, "utf8").replaceAll(/["`] \+\s*["`]/g, ""))
  .flatMap(source => [...source.matchAll(/"((?:[^"\\\n]|\\.)*)"|`((?:[^`\\]|\\.)*)`/g)])
  .map(([, plain = "", template = ""]) => (plain || template).split(/\$\{[^}]*\}/))
  // A template of little else than values would match any text.
  .filter(parts => parts.join("").length >= 15)
  .map(parts => new RegExp(`^${parts.map(part => part.replaceAll(/[\\^$.*+?()[\]{}|]/g, "\\$&")).join(".+")}$`));

test("every sentence that troubleshooting.md quotes is one that the programs print", () => {
  const quoted = [
    ...readFileSync("docs/troubleshooting.md", "utf8").matchAll(/`([A-Z][^`\n]* [^`\n]* [^`\n]*[.…)])`/g),
  ].map(([, text = ""]) => text);
  expect(quoted.length).toBeGreaterThan(8);
  expect(quoted.filter(sentence => !texts.some(text => text.test(sentence)))).toEqual([]);
});
