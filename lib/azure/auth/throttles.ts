import { createHash } from "node:crypto";
import type { AddressCounts, Throttles } from "../../auth/store.ts";
import { fitted } from "../tables/row-schema.ts";
import { saveEnding } from "./clean-up/expiry-index.ts";
import { addressSchema } from "./rows/row-schemas.ts";
import { known, schemaVersion, throttleRow, toThrottleColumns } from "./rows/rows.ts";
import type { Shelves } from "./rows/tables.ts";

/** The row that an administrator's unlock removes; it is read with the user (`Users.standing`). */
export function throttleStore(shelves: Shelves): Throttles {
  return {
    async save(throttle, next, ends = shelves.now()) {
      const { handle, userId, version } = throttle;
      const columns = { ...toThrottleColumns(userId, next), ends };
      const row = { ...columns, partitionKey: handle, rowKey: throttleRow };
      const etag = await saveEnding(shelves, "throttle", row, version);
      return etag === undefined ? undefined : { ...throttle, value: next, version: etag };
    },
    clear: async handle => {
      await shelves.users.remove(handle, throttleRow);
    },
  };
}

const countRow = "count";

/** Callers' addresses, hashed: they are data of persons. */
export function addressStore(shelves: Shelves): AddressCounts {
  const partitionOf = (group: string) => createHash("sha256").update(group, "utf8").digest("base64url");
  return {
    async find(group) {
      const row = known(await shelves.addresses.get(partitionOf(group), countRow));
      if (row === undefined) return { group };
      return { group, value: fitted("address", row, addressSchema, row), version: row.etag };
    },
    async save(address, next, ends) {
      const key = { partitionKey: partitionOf(address.group), rowKey: countRow };
      const row = { ...key, schema: schemaVersion, ...next, ends };
      const etag = await saveEnding(shelves, "address", row, address.version);
      return etag === undefined ? undefined : { ...address, value: next, version: etag };
    },
  };
}
