import { isBuiltin } from "node:module";
import { parseSync, Visitor } from "oxc-parser";

/** What a module of the outside world can be taken from. */
export type Taken = "environment" | "clock" | "randomness";

export interface ModuleFacts {
  /** Specifiers of every import, re-export, dynamic import and import type; undefined for one that is computed. */
  readonly imports: readonly (string | undefined)[];
  readonly takes: readonly Taken[];
}

const randomNames = ["randomBytes", "randomUUID", "randomInt", "randomFill", "randomFillSync"];

/** Reads a module by a real parser. Throws where it is no TypeScript. */
export function readModule(path: string, source: string): ModuleFacts {
  const { program, errors } = parseSync(path, source);
  const [error] = errors;
  if (error !== undefined) throw new Error(`${path}: ${error.message}`);
  const imports: (string | undefined)[] = [];
  const takes = new Set<Taken>();
  const add = (source: unknown) => imports.push(textOf(source));

  new Visitor({
    ImportDeclaration({ source, specifiers }) {
      add(source);
      if (source.value === "node:process") takes.add("environment");
      if (source.value !== "node:crypto") return;
      for (const { type, ...specifier } of specifiers)
        if (
          type !== "ImportSpecifier" ||
          randomNames.includes(nameOf("imported" in specifier ? specifier.imported : undefined))
        )
          takes.add("randomness");
    },
    ExportNamedDeclaration: ({ source }) => void (source === null || add(source)),
    ExportAllDeclaration: ({ source }) => void add(source),
    ImportExpression: ({ source }) => void add(source),
    TSImportType: ({ source }) => void add(source),
    CallExpression({ callee, arguments: [first] }) {
      if (nameOf(callee) === "require") add(first);
      if (nameOf(callee) === "Date") takes.add("clock");
    },
    NewExpression: ({ callee, arguments: given }) =>
      void (nameOf(callee) === "Date" && given.length === 0 && takes.add("clock")),
    VariableDeclarator: ({ init }) => void (nameOf(init) === "process" && takes.add("environment")),
    MemberExpression({ object, property }) {
      const member = `${nameOf(object)}.${nameOf(property)}`;
      if (/^process\.(env|$)/.test(member)) takes.add("environment");
      if (member === "Date.now" || nameOf(object) === "performance") takes.add("clock");
      if (member === "Math.random" || (nameOf(object) === "crypto" && /^(random|getRandom)/.test(nameOf(property))))
        takes.add("randomness");
    },
  }).visit(program);
  return { imports, takes: [...takes] };
}

/** Name of an identifier, or of what a member expression ends in (`globalThis.process`). Else empty. */
function nameOf(node: unknown): string {
  if (typeof node !== "object" || node === null || !("type" in node)) return "";
  if ("name" in node && typeof node.name === "string") return node.name;
  return "property" in node ? nameOf(node.property) : (textOf(node) ?? "");
}

const textOf = (node: unknown): string | undefined =>
  typeof node === "object" && node !== null && "value" in node && typeof node.value === "string"
    ? node.value
    : undefined;

/** Name of the package of a specifier; built-in modules carry `node:` whether written or not. */
export function packageOf(specifier: string): string {
  if (isBuiltin(specifier)) return specifier.startsWith("node:") ? specifier : `node:${specifier}`;
  return specifier.split("/", specifier.startsWith("@") ? 2 : 1).join("/");
}
