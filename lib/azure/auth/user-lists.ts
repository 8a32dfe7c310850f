import type { NamePage, NameRange, Page, Range, UserFilter, UserSummary } from "../../auth/store.ts";
import { touchRow } from "../tables/row-batches.ts";
import { parseRow } from "../tables/row-schema.ts";
import type { Row } from "../tables/tables.ts";
import { sweepUser } from "./clean-up/sweep.ts";
import { filteredUsers, matchesFilter } from "./index/filter.ts";
import { filteredListPage, type ListOwners, listPage } from "./index/id-lists.ts";
import { listedId } from "./index/list-rows.ts";
import { readUserRow, userHashIn } from "./index/locate-user.ts";
import { listByName, rowKeysOf } from "./index/name-index.ts";
import { listedUserSchema } from "./rows/row-schemas.ts";
import { fromUserRow } from "./rows/rows.ts";
import type { AuthTables } from "./rows/tables.ts";

/** Returns a page of the users who match a filter, sorted by id. */
export function listUsers(tables: AuthTables, range: Range, filter: UserFilter): Promise<Page<UserSummary>> {
  const { attributes, otpkey, unusedSince } = filter;
  if (attributes.size > 0 || otpkey !== undefined) return filteredUsers(tables, filter, range);
  const owners = listedUsers(tables);
  if (unusedSince === undefined) return listPage(tables, "users", owners, range);
  const isMatch = isMatching(tables, filter);
  return filteredListPage(tables, "users", owners, range, { isMatch, createdBefore: unusedSince });
}

/** Returns a page of the users whose names begin with a text and who match a filter, sorted by name. */
export function listUsersByName(
  tables: AuthTables,
  prefix: string,
  range: NameRange,
  filter: UserFilter,
): Promise<NamePage> {
  const { attributes, otpkey, unusedSince } = filter;
  const isFiltered = attributes.size > 0 || otpkey !== undefined || unusedSince !== undefined;
  return listByName(tables, listedUsers(tables), prefix, range, isFiltered ? isMatching(tables, filter) : undefined);
}

const isMatching = (tables: AuthTables, filter: UserFilter) => (user: UserSummary, listed: Row) =>
  matchesFilter(tables, filter, { userHash: userHashIn(listed), id: user.id });

const listedUser = (row: Row): UserSummary =>
  parseRow("list", row, listedUserSchema, { id: listedId(row), name: row.name });

const listedUsers = (tables: AuthTables): ListOwners<UserSummary> => ({
  fromListed: listedUser,
  find: row => readUserRow(tables, { by: "userHash", userHash: userHashIn(row), id: listedId(row) }),
  fromRow: row => {
    const { id, name } = fromUserRow(row).value;
    return { id, name };
  },
  touch: row => touchRow(tables.users, row),
  shown: row => ({ userHash: row.partitionKey, name: fromUserRow(row).value.name }),
  isRowOf: (listed, owner) => {
    const { value } = fromUserRow(owner);
    return rowKeysOf(value).some(keys => keys.partitionKey === listed.partitionKey && keys.rowKey === listed.rowKey);
  },
  sweep: row => sweepUser(tables, { userHash: userHashIn(row), ...listedUser(row) }),
});
