import { existsSync, globSync, readFileSync } from "node:fs";
import { posix } from "node:path";
import { describe, expect, it } from "vitest";
import { readMarkdown } from "./markdown.ts";

/** This file is not read: it contains wrong references, to prove that they are found. */
const ownPath = "test/docs/references.test.ts";
/** Folders of the root whose content is not under version control. */
const exclude = ["node_modules", ".*", "dist", "package", "coverage"].map(folder => `${folder}/**`);

const paths = globSync("**/*.{ts,mjs,js,md,bicep,json}", { exclude: [...exclude, "**/package-lock.json"] })
  .map(path => path.replaceAll("\\", "/"))
  .filter(path => path !== ownPath);
const files = new Map(paths.map(path => [path, readFileSync(path, "utf8")]));

const decisionFiles = ["shared.md", "authentication-server.md", "connector.md", "local.md"];
const decisions = new Map(
  decisionFiles.flatMap(file =>
    readMarkdown(readFileSync(`docs/decisions/${file}`, "utf8"))
      .headings.filter(heading => /^[A-Z]\d+[a-z]?$/.test(heading))
      .map(id => [id, file] as const),
  ),
);
const sections = new Set(
  readMarkdown(readFileSync("docs/specification.md", "utf8")).headings.filter(heading =>
    /^(Auth|Connector) \d+$/.test(heading),
  ),
);

/** Ids in a text that no decision has. Neither an escape of a URL nor a checksum is one. */
const unknownIds = (text: string): readonly string[] =>
  [...text.matchAll(/(?<![\w%/+])[GACL]\d{1,2}[a-z]?\b/g)].map(([id]) => id).filter(id => !decisions.has(id));
/** Numbers of sections that a specification does not have. */
const unknownSections = (text: string): readonly string[] =>
  [...text.matchAll(/[Ss]pecification(?:'s)?,?[\s*/#]+sections?[\s*/#]+(\d+)/g)]
    .map(([, section = ""]) => section)
    .filter(section => !sections.has(`Auth ${section}`));

/** Relative links of one Markdown file that lead nowhere. `read` returns the text of a path, if there is such a file. */
function brokenLinks(path: string, text: string, read: (path: string) => string | undefined): string[] {
  return readMarkdown(text).links.flatMap(({ line, target }) => {
    if (/^[a-z][a-z0-9+.-]*:/i.test(target)) return [];
    const [file = "", anchor] = target.split("#");
    const broken = [`${path}:${line}: ${target}`];
    const linkedPath = file === "" ? path : posix.join(posix.dirname(path), decodeURIComponent(file));
    const linkedText = linkedPath === path ? text : read(linkedPath);
    if (linkedText === undefined) return existsSync(linkedPath) && anchor === undefined ? [] : broken;
    if (anchor === undefined || !linkedPath.endsWith(".md")) return [];
    return readMarkdown(linkedText).anchors.has(anchor) ? [] : broken;
  });
}

const linkingFiles = [...files].filter(([path]) => /^((docs|local|bench)\/.*|[^/]*)\.md$/.test(path));

describe("references to decisions and specification sections", () => {
  it.each([
    ["decisions", unknownIds],
    ["sections", unknownSections],
  ])("name %s that exist", (_, unknown) => {
    expect([...files].flatMap(([path, text]) => unknown(text).map(each => `${path}: ${each}`))).toEqual([]);
  });

  it("are found where they name none", () => {
    const text =
      "/** A fault (C6, C99), decision [A99](a.md), G3a; specification section 5. */ // specification, sections 10";
    expect([unknownIds(text), unknownSections(text)]).toEqual([["C99", "A99", "G3a"], ["10"]]);
  });
});

describe("the index of decisions", () => {
  it("lists every decision with its title, in order", () => {
    const expected = decisionFiles.flatMap(file =>
      [...readFileSync(`docs/decisions/${file}`, "utf8").matchAll(/^## (\S+)\n\n\*\*(.+)\*\*$/gm)].map(
        ([, id = "", title]) => `- [${id}](${file}#${id.toLowerCase()}) ${title}`,
      ),
    );
    const listed = [...readFileSync("docs/decisions/README.md", "utf8").matchAll(/^- \[.+$/gm)].map(([line]) => line);
    expect(listed).toEqual(expected);
    expect(expected).toHaveLength(decisions.size);
  });
});

describe("docs/specification.md", () => {
  const text = readFileSync("docs/specification.md", "utf8");
  const missingTests = (markdown: string) =>
    [...markdown.matchAll(/`(test\/[\w./-]+\.ts)`/g)].map(([, path = ""]) => path).filter(path => !files.has(path));

  it("has a heading for each section of both specifications", () => {
    const numbers = [1, 2, 3, 4, 5, 6, 7, 8, 9];
    expect([...sections]).toEqual(["Auth", "Connector"].flatMap(service => numbers.map(each => `${service} ${each}`)));
  });

  it("names test files that exist", () => {
    expect(missingTests(text)).toEqual([]);
    expect(missingTests(`${text}\n\`test/lib/no-such.test.ts\``)).toEqual(["test/lib/no-such.test.ts"]);
  });
});

describe("links between documents", () => {
  const read = (path: string) => files.get(path);

  it("lead to a file and a heading that exist", () => {
    expect(linkingFiles.flatMap(([path, text]) => brokenLinks(path, text, read))).toEqual([]);
  });

  it("may lead to folders, to code and to headings that occur twice", () => {
    const text =
      "# One\n\n# One\n\n[a](#one-1) [b](peers/) [c](../lib/platform/fault.ts) [d](https://example.com/#x) `[e](f.md)`";
    expect(brokenLinks("docs/planted.md", text, read)).toEqual([]);
  });

  it("are reported with their line where file, heading or picture is missing", () => {
    const text = "a\n\n[b](missing.md) [c](storage.md#none) [d](#none) ![e](images/none.png)\n\n[f]: none.md";
    expect(brokenLinks("docs/planted.md", text, read).map(each => each.slice("docs/planted.md:".length))).toEqual([
      "3: missing.md",
      "3: storage.md#none",
      "3: #none",
      "3: images/none.png",
      "5: none.md",
    ]);
  });
});
