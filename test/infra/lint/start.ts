import type { BicepFile, Declaration, Expression } from "../bicep/ast.ts";
import { inside, propertyOf, resourcesOf } from "../bicep/walk.ts";
import { at, type Rule } from "./rule.ts";

/** What of a resource is known before anything is deployed. */
const knownAtStart = new Set(["id", "name", "type", "apiVersion"]);

/**
 * Names, conditions, loops, scopes and parents are worked out before the deployment begins, so they cannot use what only a deployed
 * resource or module returns: BCP120, BCP177, BCP178, BCP182 of the compiler.
 */
export const knownAtTheStart: Rule = file => {
  const problems: string[] = [];
  const check = (owner: Declaration, what: string, expression: Expression | undefined) => {
    if (expression === undefined) return;
    const late = lateIn(expression, owner, file, new Set());
    if (late !== undefined) problems.push(at(expression, `${what} of ${owner.name} waits for ${late}`));
  };
  for (const each of [...resourcesOf(file), ...file.declarations.filter(({ kind }) => kind === "module")]) {
    if (each.kind !== "resource" && each.kind !== "module") continue;
    check(each, "the condition", each.condition);
    if (each.body.kind === "loop") check(each, "the loop", each.body.over);
    for (const name of ["name", "scope", "parent"]) check(each, name, propertyOf(each.body, name));
  }
  // Loops inside of values are no better off.
  for (const declaration of file.declarations) {
    const body = declaration.kind === "resource" || declaration.kind === "module" ? declaration.body : undefined;
    for (const { expression } of body === undefined ? [] : inside(body, { declaration, way: [], bound: [] })) {
      if (expression.kind === "loop" && expression !== body) check(declaration, "a loop", expression.over);
    }
  }
  return problems;
};

/** Returns the first part of an expression that is known only after the deployment. */
function lateIn(
  expression: Expression,
  declaration: Declaration,
  file: BicepFile,
  seen: ReadonlySet<string>,
): string | undefined {
  const named = (name: string) => file.declarations.find(each => each.name === name && each.kind !== "output");
  for (const { expression: each, bound } of inside(expression, { declaration, way: [], bound: [] })) {
    if (each.kind === "member") {
      const symbol = symbolOf(each.of);
      const owner = symbol === undefined || bound.includes(symbol) ? undefined : named(symbol);
      const late = owner?.kind === "module" || (owner?.kind === "resource" && !knownAtStart.has(each.name));
      if (late && symbol !== undefined) return `${symbol}.${each.name}`;
    }
    if (each.kind === "name" && !bound.includes(each.name) && !seen.has(each.name)) {
      const variable = named(each.name);
      if (variable?.kind !== "var") continue;
      const late = lateIn(variable.value, variable, file, new Set([...seen, each.name]));
      if (late !== undefined) return late;
    }
  }
  return undefined;
}

/** Returns the resource or module whose member is accessed, also through other expressions. */
function symbolOf(expression: Expression): string | undefined {
  if (expression.kind === "name") return expression.name;
  if (expression.kind === "surely" || expression.kind === "index" || expression.kind === "nested")
    return symbolOf(expression.of);
  return undefined;
}
