import { createHash } from "node:crypto";
import type { AddressCounts, Throttles } from "../../auth/store.ts";
import { parseRow } from "../tables/row-schema.ts";
import { saveExpiring } from "./clean-up/expiry-index.ts";
import { addressSchema } from "./rows/row-schemas.ts";
import {
  checkedVersion,
  loginRow,
  schemaVersion,
  throttleRow,
  toLoginColumns,
  toThrottleColumns,
} from "./rows/rows.ts";
import type { AuthTables } from "./rows/tables.ts";

/** Stores throttles. They are read together with the user, by `Users.signInState`. */
export function throttleStore(tables: AuthTables): Throttles {
  return {
    async save(throttle, next, ends = tables.now(), login) {
      const { userHash, userId, version } = throttle;
      const columns = { ...toThrottleColumns(userId, next), ends };
      const row = { ...columns, partitionKey: userHash, rowKey: throttleRow };
      const more =
        login !== undefined && login.userId === userId
          ? [{ upsert: { rowKey: loginRow, ...toLoginColumns(userId, login.at) } }]
          : [];
      const etag = await saveExpiring(tables, "throttle", row, version, more);
      return etag === undefined ? undefined : { ...throttle, value: next, version: etag };
    },
    clear: async userHash => {
      await tables.users.remove(userHash, throttleRow);
    },
  };
}

const countRow = "count";

/** Stores counts of caller addresses. The addresses are hashed, because they are personal data. */
export function addressStore(tables: AuthTables): AddressCounts {
  const partitionOf = (group: string) => createHash("sha256").update(group, "utf8").digest("base64url");
  return {
    async find(group) {
      const row = checkedVersion(await tables.addresses.get(partitionOf(group), countRow));
      if (row === undefined) return { group };
      return { group, value: parseRow("address", row, addressSchema, row), version: row.etag };
    },
    async save(address, next, ends) {
      const key = { partitionKey: partitionOf(address.group), rowKey: countRow };
      const row = { ...key, schema: schemaVersion, ...next, ends };
      const etag = await saveExpiring(tables, "address", row, address.version);
      return etag === undefined ? undefined : { ...address, value: next, version: etag };
    },
  };
}
