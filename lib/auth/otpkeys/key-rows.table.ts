import type { Stored } from "../../platform/stored.ts";
import { rowColumns } from "../../platform/tables/row-columns.ts";
import type { Row } from "../../platform/tables/tables.ts";
import { type AuthTables, byRowKey, type OwnRows, schemaVersion } from "../storage/tables.table.ts";
import { type OtpKey, otpKeySchema } from "../store.ts";

export const keyRow = "key";

/** The columns of the row `key`. Its partition is the prefix. */
export const otpKeyColumns = rowColumns<OtpKey, "prefix">(
  { kind: "otpkey", version: schemaVersion, keyed: ["prefix"] },
  otpKeySchema,
);

/** Returns the OTP key of a row `key`. */
export const keyIn = (row: Row): Stored<OtpKey> => ({
  value: otpKeyColumns.fromRow(row, { prefix: row.partitionKey }),
  version: row.etag,
});

/** Reads the rows of an OTP key without those of its holders, which sort after them. */
export const readKeyRows = async ({ otpkeys }: AuthTables, prefix: string): Promise<OwnRows> =>
  byRowKey(await Array.fromAsync(otpkeys.query({ partitionKey: prefix, before: `${keyRow}:` })));
