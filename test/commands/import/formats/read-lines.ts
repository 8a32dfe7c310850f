import { expect } from "vitest";
import type { ReadLine } from "../../../../commands/import/lines.ts";

/** Returns what the lines describe. */
export const itemsOf = <T>(lines: readonly ReadLine<T>[]): readonly T[] =>
  lines.flatMap(line => ("item" in line ? [line.item] : []));

/** Returns why the only line cannot be imported. */
export function reasonOf(lines: readonly ReadLine<unknown>[]): string | undefined {
  expect(itemsOf(lines)).toEqual([]);
  return lines.flatMap(line => ("reason" in line ? [line.reason] : []))[0];
}
