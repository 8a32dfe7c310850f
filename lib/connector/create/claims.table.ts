import { isStoredAs, rowColumns } from "../../platform/azure/row-columns.ts";
import type { Row, Tables } from "../../platform/azure/tables.ts";
import { confirmWrite, type Stored } from "../../platform/stored.ts";
import type { Instant } from "../../platform/time.ts";
import { type Claim, claimSchema } from "../model/idempotency.ts";
import { schemaVersion } from "../storage/request-rows.table.ts";

/** Table of the claims of Idempotency-Keys. */
export const claimsTable = "idempotency";

/**
 * A claim and its row in the index by expiry are in one partition and written in one transaction, so that neither
 * exists without the other. The first digit of the scope is the partition: clean-up reads the start of 16 partitions,
 * for any number of claims.
 */
const partitions = [..."0123456789abcdef"];
const partitionOf = ({ scope }: Pick<Claim, "scope">): string => scope.slice(0, 1);
const claimPrefix = "claim_";
const claimKey = ({ scope }: Pick<Claim, "scope">): string => claimPrefix + scope;
const endsPrefix = "ends_";
const endsKey = ({ scope, endsAt }: Claim): string => `${endsPrefix}${endsAt}_${scope}`;
/** Returns the scope in the row key of the index. */
const scopeIn = (rowKey: string): string => rowKey.slice(rowKey.lastIndexOf("_") + 1);

export const claimColumns = rowColumns<Claim>({ kind: "claim", version: schemaVersion }, claimSchema);

const claimRow = (claim: Claim) => ({ rowKey: claimKey(claim), ...claimColumns.toColumns(claim) });
const endsRow = (claim: Claim) => ({ rowKey: endsKey(claim), schema: schemaVersion, scope: claim.scope });

/** Returns the claim in a row of the table; undefined for a row of the index by expiry. */
export const claimOf = (row: Row): Claim | undefined =>
  row.rowKey.startsWith(claimPrefix) ? claimColumns.fromRow(row) : undefined;

/** Returns the claims of Idempotency-Keys (docs/storage.md). */
export function claimStore(tables: Tables) {
  const table = tables.table(claimsTable);

  /** Removes expired claims and their index rows, all or none: one that was taken over has another index row. */
  const removeAll = async (expired: readonly Row[]): Promise<boolean> => {
    const actions = expired.flatMap(({ rowKey }) => [
      { remove: { rowKey } },
      { remove: { rowKey: claimKey({ scope: scopeIn(rowKey) }) } },
    ]);
    return (await table.transact(expired[0]?.partitionKey ?? "", actions)) !== undefined;
  };

  const find = async (scope: string): Promise<Stored<Claim> | undefined> => {
    const row = await table.get(partitionOf({ scope }), claimKey({ scope }));
    return row && { value: claimColumns.fromRow(row), version: row.etag };
  };

  return {
    /** Inserts a claim. Returns the stored one if there is one; undefined if that is removed meanwhile. */
    insert: (claim: Claim): Promise<Stored<Claim> | undefined> =>
      confirmWrite(
        async () => {
          const rows = [{ insert: claimRow(claim) }, { insert: endsRow(claim) }];
          const etags = await table.transact(partitionOf(claim), rows);
          return etags && { value: claim, version: String(etags[0]) };
        },
        () => find(claim.scope),
        { isRepeated: true },
      ),

    find,

    /** Replaces a claim by its ETag. Returns undefined on a conflict. */
    replace: (found: Stored<Claim>, claim: Claim): Promise<Stored<Claim> | undefined> =>
      confirmWrite(
        async () => {
          const isMoved = endsKey(claim) !== endsKey(found.value);
          const moved = [{ remove: { rowKey: endsKey(found.value) } }, { insert: endsRow(claim) }];
          const claimed = { replace: claimRow(claim), etag: found.version };
          const etags = await table.transact(partitionOf(claim), [claimed, ...(isMoved ? moved : [])]);
          return etags && { value: claim, version: String(etags[0]) };
        },
        async () => {
          const stored = await find(claim.scope);
          return stored && isStoredAs(claim, stored.value) ? stored : undefined;
        },
        { isRepeated: true },
      ),

    /** Removes a claim, so that its Idempotency-Key may be used again. Returns false on a conflict. */
    async release({ value, version }: Stored<Claim>): Promise<boolean> {
      const removed = await table.transact(partitionOf(value), [
        { remove: { rowKey: claimKey(value) }, etag: version },
        { remove: { rowKey: endsKey(value) } },
      ]);
      return removed !== undefined;
    },

    /** Removes claims that ended at or before `until`, by the index sorted by expiry. Returns their number. */
    async removeEnded(until: Instant, isPastDeadline: () => boolean): Promise<number> {
      let removed = 0;
      for (const partitionKey of partitions) {
        const ended = { partitionKey, from: endsPrefix, before: `${endsPrefix}${until}~` };
        for (let before = -1; before < removed && !isPastDeadline(); ) {
          before = removed;
          const expired = await Array.fromAsync(table.query(ended, { limit: 50 }));
          if (expired.length > 0 && (await removeAll(expired))) removed += expired.length;
          else for (const row of expired) if (await removeAll([row])) removed++;
        }
      }
      return removed;
    },
  };
}
