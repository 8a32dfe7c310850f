import { BicepFault, type Expression } from "./ast.ts";
import { type Callable, functions, isObject } from "./functions.ts";

/** What names stand for where an expression is evaluated. */
export interface Scope {
  readonly path: string;
  /** Throws BicepFault for a name that is none. */
  lookup(name: string): unknown;
  /** Functions beside those of the language. */
  readonly functions: Readonly<Record<string, Callable>>;
}

/** Names on top of a scope's: those of a lambda or a loop. */
export const withNames = (scope: Scope, names: Readonly<Record<string, unknown>>): Scope => ({
  ...scope,
  lookup: name => (Object.hasOwn(names, name) ? names[name] : scope.lookup(name)),
});

/** The value of an expression, worked out as the deployment service does. Throws BicepFault with the line. */
export function evaluate(expression: Expression, scope: Scope): unknown {
  try {
    return resultOf(expression, scope);
  } catch (error) {
    if (error instanceof BicepFault || !(error instanceof Error)) throw error;
    throw new BicepFault(`${scope.path}:${expression.line}: ${error.message}`);
  }
}

function resultOf(expression: Expression, scope: Scope): unknown {
  const of = (inner: Expression) => evaluate(inner, scope);
  switch (expression.kind) {
    case "literal":
      return expression.value;
    case "text":
      return expression.parts.map(part => (typeof part === "string" ? part : shown(of(part)))).join("");
    case "array":
      return expression.items.map(of);
    case "object":
      return Object.fromEntries(
        expression.properties.map(({ key, value }) => [typeof key === "string" ? key : String(of(key)), of(value)]),
      );
    case "name":
      return scope.lookup(expression.name);
    case "surely":
      return of(expression.of);
    case "member":
      return memberOf(of(expression.of), expression.name, expression.safe);
    case "nested":
      return memberOf(of(expression.of), `::${expression.name}`, false);
    case "index":
      return memberOf(of(expression.of), of(expression.index), false);
    case "call":
      return called(expression.name, scope)(...expression.args.map(of));
    case "lambda":
      return (...given: readonly unknown[]) =>
        evaluate(
          expression.body,
          withNames(scope, Object.fromEntries(expression.params.map((name, position) => [name, given[position]]))),
        );
    case "unary":
      return expression.operator === "!"
        ? !truth(of(expression.of))
        : Number(`${expression.operator}${of(expression.of)}`);
    case "binary":
      return binary(expression, of);
    case "choice":
      return truth(of(expression.condition)) ? of(expression.yes) : of(expression.no);
    case "loop": {
      const over = of(expression.over);
      if (!Array.isArray(over)) throw new Error("a loop goes over an array");
      return over.map((item, position) =>
        evaluate(expression.body, withNames(scope, loopNames(expression, item, position))),
      );
    }
  }
}

/** The names that a loop gives its body. */
export const loopNames = (
  { item, position }: { readonly item: string; readonly position: string | undefined },
  value: unknown,
  at: number,
): Readonly<Record<string, unknown>> => ({ [item]: value, ...(position !== undefined && { [position]: at }) });

function memberOf(value: unknown, key: unknown, safe: boolean): unknown {
  const isContainer = Array.isArray(value) || isObject(value);
  if (isContainer && Object.hasOwn(value, String(key)))
    return (value as Readonly<Record<string, unknown>>)[String(key)];
  if (safe) return null;
  throw new Error(`there is no ${String(key).replace(/^::/, "")}`);
}

function called(name: string, scope: Scope): Callable {
  const found = scope.functions[name] ?? functions[name];
  if (found === undefined) throw new Error(`${name} is no function that is known`);
  return found;
}

function binary(
  { operator, left, right }: Expression & { kind: "binary" },
  of: (inner: Expression) => unknown,
): unknown {
  const first = of(left);
  if (operator === "&&") return truth(first) && truth(of(right));
  if (operator === "||") return truth(first) || truth(of(right));
  if (operator === "??") return first ?? of(right);
  const second = of(right);
  if (operator === "==") return JSON.stringify(first) === JSON.stringify(second);
  if (operator === "!=") return JSON.stringify(first) !== JSON.stringify(second);
  if (typeof first !== "number" || typeof second !== "number") throw new Error(`${operator} wants numbers`);
  if (operator === "<") return first < second;
  if (operator === ">") return first > second;
  if (operator === "<=") return first <= second;
  if (operator === ">=") return first >= second;
  if (operator === "+") return first + second;
  if (operator === "-") return first - second;
  if (operator === "*") return first * second;
  throw new Error(`${operator} is not known`);
}

function truth(value: unknown): boolean {
  if (typeof value !== "boolean") throw new Error(`true or false is wanted, not ${JSON.stringify(value)}`);
  return value;
}

function shown(value: unknown): string {
  if (typeof value === "string") return value;
  if (typeof value === "number") return String(value);
  if (typeof value === "boolean") return value ? "True" : "False";
  throw new Error(`${JSON.stringify(value)} stands in a text`);
}
