import type { BicepFile, Declaration, Expression } from "./ast.ts";

/** An expression and what it is the value of. */
export interface Met {
  readonly expression: Expression;
  readonly declaration: Declaration;
  /** Names of the properties that lead to it inside its resource or module, from outside in. */
  readonly way: readonly string[];
  /** Names that lambdas and loops around it give. */
  readonly bound: readonly string[];
}

/** Every expression of a template, outer ones first; decorators included. */
export function* expressionsOf(file: BicepFile): Generator<Met> {
  for (const declaration of file.declarations) yield* expressionsIn(declaration);
}

function* expressionsIn(declaration: Declaration): Generator<Met> {
  for (const { args } of declaration.decorators)
    for (const arg of args) yield* inside(arg, { declaration, way: [], bound: [] });
  for (const root of rootsOf(declaration)) yield* inside(root, { declaration, way: [], bound: [] });
}

/** The expressions that a declaration is made of. */
function rootsOf(declaration: Declaration): readonly Expression[] {
  switch (declaration.kind) {
    case "param":
      return declaration.default === undefined ? [] : [declaration.default];
    case "resource":
    case "module":
      return [...(declaration.condition === undefined ? [] : [declaration.condition]), declaration.body];
    default:
      return [declaration.value];
  }
}

/** An expression and all inside of it. */
export function* inside(expression: Expression, place: Omit<Met, "expression">): Generator<Met> {
  yield { ...place, expression };
  const into = (inner: Expression, more: Partial<typeof place> = {}) => inside(inner, { ...place, ...more });
  switch (expression.kind) {
    case "text":
      for (const part of expression.parts) if (typeof part !== "string") yield* into(part);
      return;
    case "array":
      for (const item of expression.items) yield* into(item);
      return;
    case "object":
      for (const { key, value } of expression.properties) {
        const name = typeof key === "string" ? key : "";
        if (typeof key !== "string") for (const part of holesOf(key)) yield* into(part);
        yield* into(value, { way: [...place.way, name] });
      }
      for (const inner of expression.resources)
        for (const root of rootsOf(inner)) yield* inside(root, { ...place, declaration: inner });
      return;
    case "member":
    case "nested":
    case "surely":
    case "unary":
      yield* into(expression.of);
      return;
    case "index":
      yield* into(expression.of);
      yield* into(expression.index);
      return;
    case "call":
      for (const arg of expression.args) yield* into(arg);
      return;
    case "lambda":
      yield* into(expression.body, { bound: [...place.bound, ...expression.params] });
      return;
    case "binary":
      yield* into(expression.left);
      yield* into(expression.right);
      return;
    case "choice":
      yield* into(expression.condition);
      yield* into(expression.yes);
      yield* into(expression.no);
      return;
    case "loop": {
      const names = [expression.item, ...(expression.position === undefined ? [] : [expression.position])];
      yield* into(expression.over);
      yield* into(expression.body, { bound: [...place.bound, ...names] });
      return;
    }
    default:
  }
}

const holesOf = (key: Expression): readonly Expression[] =>
  key.kind === "text" ? key.parts.filter(part => typeof part !== "string") : [key];

/** Names of the file that an expression uses. */
export const namesIn = (expression: Expression, declaration: Declaration): readonly string[] =>
  [...inside(expression, { declaration, way: [], bound: [] })].flatMap(({ expression: each, bound }) =>
    each.kind === "name" && !bound.includes(each.name) ? [each.name] : [],
  );

/** Every resource of a template, those inside of others too. */
export function resourcesOf(file: BicepFile): readonly (Declaration & { kind: "resource" })[] {
  const nested = (declaration: Declaration): readonly (Declaration & { kind: "resource" })[] => {
    if (declaration.kind !== "resource") return [];
    const body = declaration.body.kind === "loop" ? declaration.body.body : declaration.body;
    return [declaration, ...(body.kind === "object" ? body.resources.flatMap(nested) : [])];
  };
  return file.declarations.flatMap(nested);
}

/** A property of the body of a resource or module; undefined where it has none. */
export function propertyOf(body: Expression, name: string): Expression | undefined {
  const object = body.kind === "loop" ? body.body : body;
  return object.kind === "object" ? object.properties.find(({ key }) => key === name)?.value : undefined;
}
