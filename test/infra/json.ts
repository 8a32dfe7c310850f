import { isDeepStrictEqual } from "node:util";

/** An object of JSON. */
export type Json = Readonly<Record<string, unknown>>;

/** Whether a value is an object of JSON. */
export const isObject = (value: unknown): value is Json =>
  typeof value === "object" && value !== null && !Array.isArray(value);

/** Returns the value at a path of names and positions, as in `properties.logs.0`. */
export function valueAt(value: unknown, path: string): unknown {
  return path.split(".").reduce<unknown>((at, step) => {
    if (Array.isArray(at)) return at[Number(step)];
    return isObject(at) ? at[step] : undefined;
  }, value);
}

/** Returns a value with another one at a path; undefined removes the name. Throws an error if nothing is at its parent. */
export function withValueAt(value: unknown, path: string, other: unknown): unknown {
  const [step = "", ...rest] = path.split(".");
  const inner = (at: unknown) => (rest.length === 0 ? other : withValueAt(at, rest.join("."), other));
  if (Array.isArray(value)) return value.with(Number(step), inner(value[Number(step)]));
  if (!isObject(value)) throw new Error(`nothing is at ${path}`);
  return Object.fromEntries(
    Object.entries({ ...value, [step]: inner(value[step]) }).filter(([, each]) => each !== undefined),
  );
}

/** Returns what turns one object into another (RFC 7396, JSON Merge Patch). */
export function patchOf(from: Json, to: Json): Json {
  const names = [...new Set([...Object.keys(from), ...Object.keys(to)])];
  return Object.fromEntries(
    names.flatMap(name => {
      const [before, after] = [from[name], to[name]];
      if (isDeepStrictEqual(before, after)) return [];
      if (after === undefined) return [[name, null]];
      return [[name, isObject(before) && isObject(after) ? patchOf(before, after) : after]];
    }),
  );
}

/** Returns an object with a patch applied (RFC 7396). */
export function patched(target: unknown, patch: Json): Json {
  const kept: Record<string, unknown> = isObject(target) ? { ...target } : {};
  for (const [name, value] of Object.entries(patch)) {
    if (value === null) delete kept[name];
    else kept[name] = isObject(value) ? patched(kept[name], value) : value;
  }
  return kept;
}

/**
 * Writes JSON with every value on one line that has no more than this number of characters. Spaces stand after commas and colons, so
 * that `git diff --word-diff` shows what has changed in a line.
 */
export function write(value: unknown, width: number, indent = ""): string {
  if (typeof value !== "object" || value === null) return JSON.stringify(value);
  const inner = `${indent} `;
  const isList = Array.isArray(value);
  const items = isList
    ? value.map(item => write(item, width, inner))
    : Object.entries(value)
        .filter(([, item]) => item !== undefined)
        .map(([name, item]) => `${JSON.stringify(name)}: ${write(item, width, inner)}`);
  const [open, close] = isList ? ["[", "]"] : ["{", "}"];
  const line = `${open}${items.join(", ")}${close}`;
  if (indent.length + line.length <= width && !line.includes("\n")) return line;
  return `${open}\n${items.map(item => inner + item).join(",\n")}\n${indent}${close}`;
}
