import { existsSync, globSync, readFileSync } from "node:fs";
import { posix } from "node:path";
import { describe, expect, it } from "vitest";
import { lineAt, readMarkdown } from "./markdown.ts";
import { findReferences, type Reference } from "./references.ts";

/** This file is not read: it contains wrong references, to prove that they are found. */
const ownPath = "test/docs/references.test.ts";
/** Folders of the root whose content is not under version control. */
const exclude = ["node_modules", ".*", "dist", "package", "coverage"].map(folder => `${folder}/**`);

const paths = globSync("**/*.{ts,mjs,js,md,bicep,json}", { exclude })
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

const referencesOf = (path: string, text: string): Reference[] =>
  findReferences(path, path.endsWith(".md") ? readMarkdown(text).prose : text);

const unresolved = (references: readonly Reference[]): string[] =>
  references.flatMap(reference => {
    const place = `${reference.path}:${reference.line}`;
    if (reference.kind === "decision")
      return decisions.has(reference.id) ? [] : [`${place}: no decision ${reference.id}`];
    if (reference.service === undefined) return [`${place}: section ${reference.section} of which specification?`];
    const heading = `${reference.service === "auth" ? "Auth" : "Connector"} ${reference.section}`;
    return sections.has(heading) ? [] : [`${place}: no heading ${heading}`];
  });

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
  const references = [...files].flatMap(([path, text]) => referencesOf(path, text));

  it("name a heading that exists", () => {
    expect(unresolved(references)).toEqual([]);
  });

  it("are found in code, tests, documents and infrastructure", () => {
    const count = (start: string, kind: Reference["kind"]) =>
      references.filter(reference => reference.path.startsWith(start) && reference.kind === kind).length;
    expect(count("lib/", "decision")).toBeGreaterThan(50);
    expect(count("functions/", "decision")).toBeGreaterThan(10);
    expect(count("test/", "decision")).toBeGreaterThan(3);
    expect(count("docs/", "decision")).toBeGreaterThan(20);
    expect(count("infra/", "decision")).toBeGreaterThan(1);
    expect(count("", "section")).toBeGreaterThan(15);
  });

  it.each([
    ["a decision", "lib/platform/fault.ts", "/** A fault (decision C99). */"],
    ["the last of several", "lib/platform/fault.ts", "/** A fault (decisions C9, C11a and C99). */"],
    ["one that stands in the next line", "lib/platform/fault.ts", "/**\n * A fault (decision\n * C99).\n */"],
    ["an id in parentheses", "lib/platform/fault.ts", "// A fault (C6, C99)"],
    ["one beside a section", "test/lib/auth/a.test.ts", 'describe("users (specification section 4, A9, A99)")'],
    ["a linked one", "docs/a.md", "See decision [C99](decisions/connector.md#c6)."],
    ["the number of a record", "docs/a.md", "See decision 0017."],
    ["a part of a decision", "infra/main.bicep", "// A caller (decision G3a)"],
    ["a section", "lib/auth/a.ts", "/** A user (specification section 10). */"],
    ["the second of two sections", "lib/connector/a.ts", "/** A key (specification sections 2 and 10). */"],
    ["a section of an unknown specification", "lib/platform/fault.ts", "/** A fault (specification section 7). */"],
  ])("reports %s that resolves to nothing", (_, path, text) => {
    expect(unresolved(referencesOf(path, text))).toHaveLength(1);
  });

  it.each([
    ["lib/connector/a.ts", "specification section 2", "connector"],
    ["lib/azure/auth/users.ts", "specification section 2", "auth"],
    ["lib/connector/storage/rows.table.ts", "specification section 2", "connector"],
    ["test/functions/auth/core/users/users.test.ts", "specification section 2", "auth"],
    ["docs/telemetry.md", "connector specification section 2", "connector"],
    ["docs/telemetry.md", "authentication server's specification, section 2", "auth"],
    ["docs/telemetry.md", "(specification section 2, decision C7)", "connector"],
    ["local/peers/security-key/authenticator.ts", "specification section 2", undefined],
  ])("decides by text and path whose section is meant: %s, %s", (path, text, service) => {
    expect(findReferences(path, text).find(({ kind }) => kind === "section")).toMatchObject({ section: 2, service });
  });

  it("do not count as an example in Markdown code", () => {
    expect(referencesOf("docs/a.md", "Write `decision C99`.\n\n```\ndecision C99\n```\n")).toEqual([]);
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

  it("are found in every group of documents", () => {
    const count = (start: string) =>
      linkingFiles
        .filter(([path]) => path.startsWith(start))
        .reduce((sum, [, text]) => sum + readMarkdown(text).links.length, 0);
    expect(count("docs/")).toBeGreaterThan(100);
    expect(count("README.md")).toBeGreaterThan(5);
    expect(count("local/")).toBeGreaterThan(0);
  });

  it.each([
    ["a missing file", "[a](missing.md)"],
    ["a missing heading", "[a](storage.md#no-such-heading)"],
    ["a missing heading of the same file", "[a](#no-such-heading)"],
    ["a missing picture", "![a](images/missing.png)"],
    ["a missing file of a link definition", "See [a].\n\n[a]: missing.md"],
  ])("are reported with %s", (_, text) => {
    expect(brokenLinks("docs/planted.md", text, read)).toHaveLength(1);
  });

  it("may lead to folders, to code and to headings that occur twice", () => {
    const text =
      "# One\n\n# One\n\n[a](#one-1) [b](peers/) [c](../lib/platform/fault.ts) [d](https://example.com/#x) `[e](f.md)`";
    expect(brokenLinks("docs/planted.md", text, read)).toEqual([]);
  });

  it("are reported with their line", () => {
    expect(lineAt("a\nb\nc", 4)).toBe(3);
    expect(brokenLinks("docs/planted.md", "a\n\n[b](missing.md)", read)).toEqual(["docs/planted.md:3: missing.md"]);
  });
});
