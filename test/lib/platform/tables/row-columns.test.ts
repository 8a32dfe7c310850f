import { expect, test } from "vitest";
import * as z from "zod";
import { rowColumns, schemaOf } from "../../../../lib/platform/tables/row-columns.ts";

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

test.each([1, 3, undefined, "2"])("a row of the schema version %j is not read by code of version 2", schema => {
  const columns = rowColumns<{ id: number }>({ kind: "thing", version: 2 }, () => z.object({ id: z.number() }));
  const row = { partitionKey: "p", rowKey: "r", etag: "e", ...columns.toColumns({ id: 7 }) };
  expect(columns.fromRow(row)).toEqual({ id: 7 });
  expect(() => columns.fromRow({ ...row, schema } as typeof row)).toThrow("The thing row p/r cannot be read");
});
