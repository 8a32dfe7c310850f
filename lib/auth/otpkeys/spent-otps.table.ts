import * as z from "zod";
import { rowColumns } from "../../platform/tables/row-columns.ts";
import { storedInstant } from "../../platform/tables/row-schema.ts";
import type { Instant } from "../../platform/time.ts";
import { saveExpiring } from "../storage/expiry.table.ts";
import { type AuthTables, newWriteId, schemaVersion } from "../storage/tables.table.ts";

/** The row of an OTP that was used, under its prefix and its hash. */
export const spentColumns = rowColumns<{ ends: Instant }>({ kind: "spent OTP", version: schemaVersion }, () =>
  z.object({ ends: storedInstant }),
);

/**
 * Records an OTP of kind `remote` as used (A8). Returns false if it was used before.
 * @param otpHash SHA-256 in base64url
 * @param ends when the record may be deleted
 */
export async function spendOtp(tables: AuthTables, prefix: string, otpHash: string, ends: Instant): Promise<boolean> {
  const writeId = newWriteId(tables);
  const row = { partitionKey: prefix, rowKey: otpHash, ...spentColumns.toColumns({ ends }), ends, writeId };
  if ((await saveExpiring(tables, "spentotp", row, undefined)) !== undefined) return true;
  // The row is this call's own if the response to an earlier try was lost.
  return (await tables.spentOtps.get(prefix, otpHash))?.writeId === writeId;
}
