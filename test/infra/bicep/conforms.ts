import type { Param, Type } from "./ast.ts";
import { isObject } from "./functions.ts";

/** What is wrong with a value of a declared type; undefined where nothing is. */
export function misfit(value: unknown, type: Type): string | undefined {
  const wanted = typeText(type);
  const wrong = `${JSON.stringify(value)} is no ${wanted}`;
  switch (type.kind) {
    case "maybe":
      return value === null || value === undefined ? undefined : misfit(value, type.of);
    case "either":
      return type.types.some(each => misfit(value, each) === undefined) ? undefined : wrong;
    case "value":
      return value === type.value ? undefined : wrong;
    case "list":
      if (!Array.isArray(value)) return wrong;
      return value.map(item => misfit(item, type.of)).find(found => found !== undefined);
    case "named":
      return `the type ${type.name} is not known`;
    case "primitive":
      return isPrimitive(value, type.name) ? undefined : wrong;
  }
}

function isPrimitive(value: unknown, name: string): boolean {
  if (name === "int") return Number.isSafeInteger(value);
  if (name === "bool") return typeof value === "boolean";
  if (name === "array") return Array.isArray(value);
  if (name === "object") return isObject(value);
  return typeof value === "string";
}

function typeText(type: Type): string {
  if (type.kind === "either") return type.types.map(typeText).join(" | ");
  if (type.kind === "list") return `${typeText(type.of)}[]`;
  if (type.kind === "maybe") return `${typeText(type.of)}?`;
  return type.kind === "value" ? JSON.stringify(type.value) : type.name;
}

/** What is wrong with a parameter's value by its decorators; undefined where nothing is. */
export function outOfBounds(value: unknown, { decorators }: Param): string | undefined {
  const size = typeof value === "string" || Array.isArray(value) ? value.length : Number(value);
  const limitOf = (name: string) => {
    const [limit] = decorators.find(decorator => decorator.name === name)?.args ?? [];
    return limit?.kind === "literal" ? Number(limit.value) : undefined;
  };
  for (const name of ["minLength", "minValue"]) {
    const limit = limitOf(name);
    if (limit !== undefined && size < limit) return `${name} is ${limit}`;
  }
  for (const name of ["maxLength", "maxValue"]) {
    const limit = limitOf(name);
    if (limit !== undefined && size > limit) return `${name} is ${limit}`;
  }
  const [allowed] = decorators.find(({ name }) => name === "allowed")?.args ?? [];
  if (allowed?.kind !== "array") return undefined;
  const values = allowed.items.map(item =>
    item.kind === "text" ? item.parts.join("") : item.kind === "literal" && item.value,
  );
  return values.includes(value as string) ? undefined : `${JSON.stringify(value)} is not allowed`;
}
