import * as z from "zod";
import { type Stored, storedInstant } from "../../platform/stored.ts";
import { rowColumns, schemaOf } from "../../platform/tables/row-columns.ts";
import type { Row } from "../../platform/tables/tables.ts";
import { attributesRow } from "../attributes/attribute-rows.table.ts";
import { type AuthTables, schemaVersion } from "../storage/tables.table.ts";
import type { OtpKey } from "../store.ts";
import { totpAlgorithms } from "./kinds/contract.ts";
import { otpKindNames } from "./kinds/kinds.ts";

export const keyRow = "key";

/** The partition of an OTP key: its rows, and the index rows of users who may have it. */
export const keyPartition = (prefix: string): string => prefix;

/** The columns of the row `key`. Its partition is the prefix. */
export const otpKeyColumns = rowColumns<OtpKey, "prefix">(
  { kind: "otpkey", version: schemaVersion, keyed: ["prefix"] },
  () => {
    const count = z.int().nonnegative();
    const text = z.string();
    return schemaOf<OtpKey>()(
      z.object({
        id: z.int().positive(),
        prefix: text,
        kind: z.enum(otpKindNames).exactOptional(),
        enabled: z.boolean(),
        failures: count,
        stopped: z.boolean(),
        stoppedAt: storedInstant.exactOptional(),
        lastUsed: storedInstant.exactOptional(),
        validFrom: storedInstant.exactOptional(),
        validUntil: storedInstant.exactOptional(),
        temporaryCode: z
          .object({ hash: text.exactOptional(), usesLeft: count, validUntil: storedInstant })
          .exactOptional(),
        parameters: z.object({
          digits: count.exactOptional(),
          period: count.exactOptional(),
          algorithm: z.enum(totpAlgorithms).exactOptional(),
          state: z.object({ counter: z.int(), resync: z.int().exactOptional(), drift: z.int().exactOptional() }),
        }),
        sealedSecret: text.exactOptional(),
        createdAt: storedInstant,
      }),
    );
  },
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
