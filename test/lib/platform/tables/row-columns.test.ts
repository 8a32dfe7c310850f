import { expect, test } from "vitest";
import * as z from "zod";
import { schemaOf } from "../../../../lib/platform/tables/row-columns.ts";

interface Thing {
  readonly id: number;
  readonly name?: string;
}

test("a schema compiles only with every property of its type, and the compiler names the others", () => {
  const differing = z.object({ id: z.string(), extra: z.string() });
  // @ts-expect-error The parameter is "differs in id" | "differs in name" | "differs in extra".
  schemaOf<Thing>()(differing);
  // @ts-expect-error The column `name` is missing.
  schemaOf<Thing>()(z.object({ id: z.number() }));
  const same = z.object({ id: z.number(), name: z.string().exactOptional() });
  expect(schemaOf<Thing>()(same)).toBe(same);
});
