import { createHash } from "node:crypto";
import type { AddressCounts, Throttles } from "../../auth/store.ts";
import { parseRow } from "../tables/row-schema.ts";
import { saveExpiring } from "./clean-up/expiry-index.ts";
import { addressSchema } from "./rows/row-schemas.ts";
import { checkedVersion, schemaVersion, throttleRow, toThrottleColumns } from "./rows/rows.ts";
import type { AuthTables } from "./rows/tables.ts";

/** The row that an administrator's unlock removes; it is read with the user (`Users.standing`). */
export function throttleStore(shelves: AuthTables): Throttles {
  return {
    async save(throttle, next, ends = shelves.now()) {
      const { handle, userId, version } = throttle;
      const columns = { ...toThrottleColumns(userId, next), ends };
      const row = { ...columns, partitionKey: handle, rowKey: throttleRow };
      const etag = await saveExpiring(shelves, "throttle", row, version);
      return etag === undefined ? undefined : { ...throttle, value: next, version: etag };
    },
    clear: async handle => {
      await shelves.users.remove(handle, throttleRow);
    },
  };
}

const countRow = "count";

/** Callers' addresses, hashed: they are data of persons. */
export function addressStore(shelves: AuthTables): AddressCounts {
  const partitionOf = (group: string) => createHash("sha256").update(group, "utf8").digest("base64url");
  return {
    async find(group) {
      const row = checkedVersion(await shelves.addresses.get(partitionOf(group), countRow));
      if (row === undefined) return { group };
      return { group, value: parseRow("address", row, addressSchema, row), version: row.etag };
    },
    async save(address, next, ends) {
      const key = { partitionKey: partitionOf(address.group), rowKey: countRow };
      const row = { ...key, schema: schemaVersion, ...next, ends };
      const etag = await saveExpiring(shelves, "address", row, address.version);
      return etag === undefined ? undefined : { ...address, value: next, version: etag };
    },
  };
}
