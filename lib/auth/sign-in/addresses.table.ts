import * as z from "zod";
import { rowColumns } from "../../platform/azure/row-columns.ts";
import { conflict, type Immutable, retryOnConflict, storedInstant } from "../../platform/stored.ts";
import { between, type Instant, plus } from "../../platform/time.ts";
import { type AuthTables, saveExpiring, schemaVersion } from "../tables.table.ts";
import { busy, throttled } from "./throttle.ts";

const countRow = "count";

const countSchema = () =>
  z.object({
    /** Start of the window. */
    since: storedInstant,
    /** Attempts in the window that did not succeed (A12). */
    attempts: z.int().nonnegative(),
  });
type AddressCount = Immutable<z.output<ReturnType<typeof countSchema>>>;

export const addressColumns = rowColumns<AddressCount>({ kind: "address", version: schemaVersion }, countSchema);

interface AddressLimits {
  /** Maximum number of attempts in a window; 0: no limit. */
  readonly attempts: number;
  readonly windowMs: number;
}

/** Counts of caller addresses by group (`addressGroup`). The groups are hashed, because they are personal data. */
export function addressTable(tables: AuthTables) {
  /**
   * Changes a count by version, again after a conflict. Without a change writes nothing. Throws Fault `throttled` with
   * the reason `busy` if the conflicts do not end.
   */
  const change = <T extends AddressCount | undefined>(
    group: string,
    windowMs: number,
    next: (count?: AddressCount) => T,
  ) =>
    retryOnConflict<T>(async () => {
      const key = { partitionKey: await tables.keyedHash("address", group), rowKey: countRow };
      const row = await tables.addresses.get(key.partitionKey, key.rowKey);
      const count = next(row && addressColumns.fromRow(row));
      if (count === undefined) return count;
      const changed = { ...key, ...addressColumns.toColumns(count), ends: plus(count.since, windowMs) };
      const etag = await saveExpiring(tables, "addresses", changed, row?.etag);
      return etag === undefined ? conflict : count;
    }, busy);

  return {
    /** Counts an attempt, and returns the start of its window. Throws Fault `throttled` also if the window is full. */
    async count(group: string, { attempts: maxAttempts, windowMs }: AddressLimits): Promise<Instant> {
      const now = tables.now();
      const { since } = await change(group, windowMs, count => {
        const ageMs = count === undefined ? windowMs : between(count.since, now);
        if (count === undefined || ageMs >= windowMs) return { since: now, attempts: 1 };
        if (count.attempts >= maxAttempts) throw throttled(windowMs - ageMs);
        return { ...count, attempts: count.attempts + 1 };
      });
      return since;
    },

    /** Subtracts an attempt again. If the window has rolled over there is nothing to subtract. */
    async uncount(group: string, since: Instant, { windowMs }: AddressLimits): Promise<void> {
      await change(group, windowMs, count =>
        count?.since === since ? { since, attempts: Math.max(0, count.attempts - 1) } : undefined,
      );
    },
  };
}
