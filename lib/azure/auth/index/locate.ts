import type { UserRef } from "../../../auth/store.ts";
import { userHash } from "../../../auth/user-hash.ts";
import { parseRow } from "../../tables/row-schema.ts";
import type { Row } from "../../tables/tables.ts";
import { handleSchema } from "../rows/row-schemas.ts";
import { ownerOf } from "../rows/rows.ts";
import type { AuthTables } from "../rows/tables.ts";
import { pointerOf } from "./id-lists.ts";

/** Where a user would be: the partition, and the id that the one there must have. */
export interface Address {
  readonly handle: string;
  readonly id?: number;
}

/** Where a user is, if there is one: by name at once, by id with one read. */
export async function locate(shelves: AuthTables, whom: UserRef): Promise<Address | undefined> {
  if (whom.by === "name") return { handle: userHash(whom.folded) };
  if (whom.by === "handle") return whom;
  const pointer = await pointerOf(shelves, "users", whom.id);
  return pointer && { handle: handleIn(pointer), id: whom.id };
}

/** The handle that a row names. Throws a `RowError` where it names none. */
export const handleIn = (row: Row): string => parseRow("pointer", row, handleSchema, row).handle;

/** A `user` row, where it is the one that was asked for. */
export const ifMatches = (row: Row | undefined, { id }: Pick<Address, "id">): Row | undefined =>
  row !== undefined && (id === undefined || ownerOf(row) === id) ? row : undefined;
