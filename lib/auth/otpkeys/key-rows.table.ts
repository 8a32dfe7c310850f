import { rowColumns } from "../../platform/azure/row-columns.ts";
import type { Row } from "../../platform/azure/tables.ts";
import type { Stored } from "../../platform/stored.ts";
import { type OtpKey, otpKeySchema } from "../store.ts";
import { type AuthTables, byRowKey, type OwnRows, schemaVersion } from "../tables.table.ts";
import { readUser } from "../users/names.table.ts";
import type { UserRef } from "../users/username.ts";

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

/**
 * Reads the rows of an OTP key without those of its holders, which sort after them. Returns undefined if there is no
 * such key, or if it is not assigned to the user `of`.
 */
export async function readKeyRows(
  tables: AuthTables,
  prefix: string,
  of?: UserRef,
): Promise<(OwnRows & { readonly key: Row }) | undefined> {
  const [user, rows] = await Promise.all([
    of && readUser(tables, of),
    Array.fromAsync(tables.otpkeys.query({ partitionKey: prefix, before: `${keyRow}:` })),
  ]);
  const { key, attributes } = byRowKey(rows);
  const isAssigned = user?.value.otpkeys.some(each => each.prefix === prefix && each.id === key?.id);
  return key && (of === undefined || isAssigned) ? { key, ...(attributes && { attributes }) } : undefined;
}
