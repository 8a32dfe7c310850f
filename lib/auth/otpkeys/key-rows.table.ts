import type { Stored } from "../../platform/stored.ts";
import { rowColumns } from "../../platform/tables/row-columns.ts";
import type { Row } from "../../platform/tables/tables.ts";
import { attributesRow } from "../attributes/attribute-rows.table.ts";
import { type AuthTables, schemaVersion } from "../storage/tables.table.ts";
import { type OtpKey, otpKeySchema } from "../store.ts";

export const keyRow = "key";

/** The partition of an OTP key: its rows, and the index rows of users who may have it. */
export const keyPartition = (prefix: string): string => prefix;

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

/** The two rows of an OTP key, as far as they exist. They are inserted and removed together. */
interface KeyRows {
  readonly key?: Row;
  readonly attributes?: Row;
}

/** Reads the rows of an OTP key without those of its holders, which sort after them. */
export const readKeyRows = async ({ otpkeys }: AuthTables, prefix: string): Promise<KeyRows> =>
  keyRowsIn(await Array.fromAsync(otpkeys.query({ partitionKey: keyPartition(prefix), before: `${keyRow}:` })));

export function keyRowsIn(rows: readonly Row[]): KeyRows {
  const named = (name: string) => rows.find(({ rowKey }) => rowKey === name);
  const [key, attributes] = [named(keyRow), named(attributesRow)];
  return { ...(key && { key }), ...(attributes && { attributes }) };
}
