import * as z from "zod";
import { storedInstant } from "../../platform/stored.ts";
import { rowColumns, schemaOf } from "../../platform/tables/row-columns.ts";
import type { Instant } from "../../platform/time.ts";
import { saveExpiring } from "../storage/expiry.table.ts";
import { type AuthTables, schemaVersion } from "../storage/tables.table.ts";
import type { AddressCount } from "./address-limit.ts";

const countRow = "count";

export const addressColumns = rowColumns<AddressCount>({ kind: "address", version: schemaVersion }, () =>
  schemaOf<AddressCount>()(z.object({ since: storedInstant, attempts: z.int().nonnegative() })),
);

/** The count of a caller address as read. */
interface AddressState {
  /** See `addressGroup`. */
  readonly group: string;
  readonly value?: AddressCount;
  /** Absent if no row exists. */
  readonly version?: string;
}

/** Storage of the counts of caller addresses. The addresses are hashed, because they are personal data. */
export function addressTable(tables: AuthTables) {
  const partitionOf = (group: string) => tables.keyedHash("address", group);
  return {
    async find(group: string): Promise<AddressState> {
      const row = await tables.addresses.get(await partitionOf(group), countRow);
      return row === undefined ? { group } : { group, value: addressColumns.fromRow(row), version: row.etag };
    },

    /** Writes a count by version. Returns undefined after a conflict. @param ends when the row may be deleted */
    async save(address: AddressState, value: AddressCount, ends: Instant): Promise<AddressState | undefined> {
      const row = {
        partitionKey: await partitionOf(address.group),
        rowKey: countRow,
        ...addressColumns.toColumns(value),
        ends,
      };
      const etag = await saveExpiring(tables, "address", row, address.version);
      return etag === undefined ? undefined : { ...address, value, version: etag };
    },
  };
}
