import type { Declaration, Expression } from "../bicep/ast.ts";
import { expressionsOf, namesIn, propertyOf, resourcesOf } from "../bicep/walk.ts";
import { at, type Rule } from "./rule.ts";

/** Hosts that differ between clouds (the linter's own list). */
const cloudHosts = [
  "api.loganalytics.io",
  "azuredatalakeanalytics.net",
  "azuredatalakestore.net",
  "batch.core.windows.net",
  "core.windows.net",
  "database.windows.net",
  "datalake.azure.net",
  "gallery.azure.com",
  "graph.windows.net",
  "login.microsoftonline.com",
  "management.azure.com",
  "management.core.windows.net",
  "region.asazure.windows.net",
  "trafficmanager.net",
  "vault.azure.net",
];

const isName = (text: string): boolean => /^[A-Za-z_][A-Za-z0-9_]*$/.test(text);

/** The text of an expression without holes. */
const plain = (expression: Expression | undefined): string | undefined =>
  expression?.kind === "text" && expression.parts.every(part => typeof part === "string")
    ? expression.parts.join("")
    : undefined;

const isSecure = ({ decorators }: Declaration): boolean => decorators.some(({ name }) => name === "secure");

const calls = (file: Parameters<Rule>[0], wanted: (name: string) => boolean, sentence: string): readonly string[] =>
  [...expressionsOf(file)].flatMap(({ expression }) =>
    expression.kind === "call" && wanted(expression.name) ? [at(expression, `${expression.name}(): ${sentence}`)] : [],
  );

/** Rules on what values are written, and how. */
export const valueRules: Readonly<Record<string, Rule>> = {
  "prefer-interpolation": file =>
    [...expressionsOf(file)].flatMap(({ expression }) =>
      expression.kind === "call" && expression.name === "concat" && expression.args.some(({ kind }) => kind === "text")
        ? [at(expression, "concat() joins texts; write one text with holes")]
        : [],
    ),

  "simplify-interpolation": file =>
    [...expressionsOf(file)].flatMap(({ expression }) =>
      expression.kind === "text" && expression.parts.length === 1 && typeof expression.parts[0] !== "string"
        ? [at(expression, "a text is nothing but one hole")]
        : [],
    ),

  "prefer-unquoted-property-names": file =>
    [...expressionsOf(file)].flatMap(({ expression }) => {
      if (expression.kind === "index" && isName(plain(expression.index) ?? ""))
        return [at(expression, "write a dot and the name")];
      if (expression.kind !== "object") return [];
      return expression.properties
        .filter(({ key, quoted }) => quoted && typeof key === "string" && isName(key))
        .map(each => at(each, `${each.key} needs no quotes`));
    }),

  "no-hardcoded-env-urls": file =>
    [...expressionsOf(file)].flatMap(({ expression }) => {
      if (expression.kind !== "text") return [];
      const written = expression.parts.filter(part => typeof part === "string").join("\n");
      const host = cloudHosts.find(each => written.toLowerCase().includes(each));
      return host === undefined ? [] : [at(expression, `${host} is another in other clouds`)];
    }),

  "no-hardcoded-location": file =>
    resourcesOf(file).flatMap(each => {
      const location = propertyOf(each.body, "location");
      const written = plain(location);
      if (location !== undefined && written !== undefined && written !== "global")
        return [at(location, `${written} is written out`)];
      return [];
    }),

  "no-loc-expr-outside-params": file =>
    [...expressionsOf(file)].flatMap(({ expression, declaration }) =>
      declaration.kind !== "param" &&
      expression.kind === "member" &&
      expression.name === "location" &&
      expression.of.kind === "call" &&
      ["resourceGroup", "deployment"].includes(expression.of.name)
        ? [at(expression, "the location comes by a parameter")]
        : [],
    ),

  "secure-parameter-default": file =>
    file.declarations.flatMap(each =>
      each.kind === "param" && isSecure(each) && each.default !== undefined && plain(each.default) !== ""
        ? [at(each, `the secure parameter ${each.name} has a default`)]
        : [],
    ),

  "secure-secrets-in-params": file =>
    file.declarations.flatMap(each => {
      if (each.kind !== "param" || isSecure(each) || each.type.kind !== "primitive") return [];
      if (!["string", "object"].includes(each.type.name)) return [];
      const sounds = /password|pwd|secret|accountkey|acctkey/i.test(each.name);
      return sounds && !/(name|uri|url|id|version)$/i.test(each.name)
        ? [at(each, `${each.name} sounds secret and is not`)]
        : [];
    }),

  "outputs-should-not-contain-secrets": file => {
    const secure = new Set(file.declarations.filter(isSecure).map(({ name }) => name));
    return file.declarations.flatMap(each => {
      if (each.kind !== "output" || isSecure(each)) return [];
      const named = namesIn(each.value, each).find(name => secure.has(name));
      const lists = [...expressionsOf({ ...file, declarations: [each] })].some(
        ({ expression }) => expression.kind === "call" && /^(sys\.|az\.)?list/i.test(expression.name),
      );
      return named !== undefined || lists || /password/i.test(each.name)
        ? [at(each, `the output ${each.name} gives a secret away`)]
        : [];
    });
  },

  "simplify-json-null": file =>
    [...expressionsOf(file)].flatMap(({ expression }) =>
      expression.kind === "call" && expression.name === "json" && plain(expression.args[0]) === "null"
        ? [at(expression, "write null")]
        : [],
    ),

  "use-safe-access": file =>
    [...expressionsOf(file)].flatMap(({ expression }) =>
      expression.kind === "choice" && expression.condition.kind === "call" && expression.condition.name === "contains"
        ? [at(expression, "write .? and ??")]
        : [],
    ),

  "use-resource-symbol-reference": file =>
    calls(file, name => name === "reference" || /^list[A-Z]/.test(name), "use the resource's symbol"),

  /** Ours, and stricter than use-stable-resource-identifiers: nothing may differ from run to run, a secret least of all. */
  "nothing-new-each-run": file =>
    calls(file, name => ["newGuid", "utcNow", "sys.newGuid", "sys.utcNow"].includes(name), "another value in each run"),

  /** BCP420: the compiler must know where a resource goes. */
  "scope-choice": file =>
    resourcesOf(file).flatMap(each => {
      const scope = propertyOf(each.body, "scope") ?? propertyOf(each.body, "parent");
      return scope?.kind === "choice" ? [at(scope, `${each.name} chooses its scope`)] : [];
    }),
};
