import * as z from "zod";
import { rowColumns } from "../../platform/azure/row-columns.ts";
import { type Immutable, storedInstant } from "../../platform/stored.ts";
import type { Instant } from "../../platform/time.ts";
import type { ThrottleKey, ThrottleState } from "../store.ts";
import { type AuthTables, confirmRemoval, saveExpiring, schemaVersion } from "../tables.table.ts";
import { noFailures, type Throttle, throttleSchema } from "./throttle.ts";

const throttleRow = "throttle";

const throttleRowSchema = () =>
  z.object({
    /** Id to which the name led. */
    id: z.int().positive().exactOptional(),
    value: throttleSchema,
    ends: storedInstant,
  });

type ThrottleRow = Immutable<z.output<ReturnType<typeof throttleRowSchema>>>;
export const throttleColumns = rowColumns<ThrottleRow>({ kind: "throttle", version: schemaVersion }, throttleRowSchema);

/**
 * Storage of throttles. Their keys are hashed, because people also type passwords and OTPs into the field of the name.
 */
export function throttleTable(tables: AuthTables) {
  const { throttles, keyedHash } = tables;

  return {
    /**
     * Reads a throttle. With the id of another owner of the name it is `noFailures`.
     * @param owner the id to which the name leads now, which may be read in parallel
     */
    async find(key: ThrottleKey, owner?: Promise<number | undefined> | number): Promise<ThrottleState> {
      const reading = keyedHash(key.kind, key.text).then(partition => throttles.get(partition, throttleRow));
      const [row, ownerId] = await Promise.all([reading, owner]);
      const stored = row && throttleColumns.fromRow(row);
      const isOwn = stored !== undefined && stored.id === ownerId;
      return {
        key,
        ...(ownerId !== undefined && { ownerId }),
        value: isOwn ? stored.value : noFailures,
        ...(row && { version: row.etag }),
      };
    },

    /**
     * Writes a throttle by version. Returns undefined after a conflict.
     * @param ends when the row may be deleted, see `throttleExpiry`; absent: at once
     */
    async save(
      throttle: ThrottleState,
      value: Throttle,
      ends: Instant = tables.now(),
    ): Promise<ThrottleState | undefined> {
      const { key, ownerId, version } = throttle;
      const columns = throttleColumns.toColumns({ ...(ownerId !== undefined && { id: ownerId }), value, ends });
      const row = { partitionKey: await keyedHash(key.kind, key.text), rowKey: throttleRow, ...columns, ends };
      const etag = await saveExpiring(tables, "throttles", row, version);
      return etag === undefined ? undefined : { ...throttle, value, version: etag };
    },

    /** Deletes a throttle. */
    async clear(key: ThrottleKey): Promise<void> {
      await confirmRemoval(throttles, await keyedHash(key.kind, key.text), throttleRow);
    },
  };
}
