import { expect, test } from "vitest";
import type { UserSummary } from "../../../../lib/auth/store.ts";
import type { ListOwners } from "../../../../lib/azure/auth/index/id-lists.ts";
import { listByName, nameRowKeys } from "../../../../lib/azure/auth/index/name-index.ts";
import type { AuthTables } from "../../../../lib/azure/auth/rows/tables.ts";
import type { Row } from "../../../../lib/azure/tables/tables.ts";

test("a user with a row of each name, who is being renamed, does not hide the users after them from a short filtered list", async () => {
  const listed = [
    { id: 1, name: "ada" },
    { id: 1, name: "adb" },
    { id: 2, name: "adc" },
  ];
  const rows = listed.map(user => ({ ...nameRowKeys(user), ...user, schema: 1, clean: true, etag: "" }));
  const tables = { ids: { queryPage: async () => ({ rows }) } } as unknown as AuthTables;
  const owners = { fromListed: (row: Row) => row } as unknown as ListOwners<UserSummary>;
  const { entries, next } = await listByName(tables, owners, "ad", { top: 1 }, async () => true);
  expect(entries.map(({ id }) => id)).toEqual([1]);
  expect(next).toBeDefined();
});
