import { expect, test } from "vitest";
import * as z from "zod";
import { rowColumns } from "../../../../lib/platform/azure/row-columns.ts";

test.each([1, 3, undefined, "2"])("a row of the schema version %j is not read by code of version 2", schema => {
  const columns = rowColumns<{ id: number }>({ kind: "thing", version: 2 }, () => z.object({ id: z.number() }));
  const row = { partitionKey: "p", rowKey: "r", etag: "e", ...columns.toColumns({ id: 7 }) };
  expect(columns.fromRow(row)).toEqual({ id: 7 });
  expect(() => columns.fromRow({ ...row, schema } as typeof row)).toThrow("The thing row p/r cannot be read");
});
