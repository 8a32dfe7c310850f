import type { Row, Tables } from "../../platform/tables/tables.ts";
import type { ClaimStore } from "../deps.ts";
import type { Claim } from "../model/idempotency.ts";
import { fromClaimRow, schemaVersion } from "./rows.table.ts";

/** Table of the claims of Idempotency-Keys. */
export const claimsTable = "idempotency";

/**
 * A claim and its row in the index by expiry are in one partition and written in one transaction, so that neither exists without the other.
 * The first digit of the scope is the partition: clean-up reads the start of 16 partitions, for any number of claims.
 */
const partitions = [..."0123456789abcdef"];
const partitionOf = ({ scope }: Pick<Claim, "scope">): string => scope.slice(0, 1);
const claimPrefix = "claim_";
const claimKey = ({ scope }: Pick<Claim, "scope">): string => claimPrefix + scope;
const endsPrefix = "ends_";
const endsKey = ({ scope, endsAt }: Claim): string => `${endsPrefix}${endsAt}_${scope}`;
/** Returns the scope in the row key of the index. */
const scopeIn = (rowKey: string): string => rowKey.slice(rowKey.lastIndexOf("_") + 1);

const claimRow = ({ answer, ...claim }: Claim) => ({
  rowKey: claimKey(claim),
  schema: schemaVersion,
  ...claim,
  ...(answer !== undefined && { answer: JSON.stringify(answer) }),
});
const endsRow = (claim: Claim) => ({ rowKey: endsKey(claim), schema: schemaVersion, scope: claim.scope });

/** Returns the claim in a row of the table; undefined for a row of the index by expiry. */
export const claimOf = (row: Row): Claim | undefined =>
  row.rowKey.startsWith(claimPrefix) ? fromClaimRow(row) : undefined;

/** Returns the store of claims (docs/storage.md). */
export function claimStore(tables: Tables): ClaimStore {
  const table = tables.table(claimsTable);

  /** Removes expired claims with their index rows, all or none: the index row of a claim that was taken over meanwhile is gone. */
  const removeAll = async (expired: readonly Row[]): Promise<boolean> => {
    const actions = expired.flatMap(({ rowKey }) => [
      { remove: { rowKey } },
      { remove: { rowKey: claimKey({ scope: scopeIn(rowKey) }) } },
    ]);
    return (await table.transact(expired[0]?.partitionKey ?? "", actions)) !== undefined;
  };

  return {
    async insert(claim) {
      const etags = await table.transact(partitionOf(claim), [{ insert: claimRow(claim) }, { insert: endsRow(claim) }]);
      return etags && { value: claim, etag: String(etags[0]) };
    },

    async find(scope) {
      const row = await table.get(partitionOf({ scope }), claimKey({ scope }));
      return row && { value: fromClaimRow(row), etag: row.etag };
    },

    async replace(found, claim) {
      const partitionKey = partitionOf(claim);
      if (endsKey(claim) === endsKey(found.value)) {
        const etag = await table.replace({ partitionKey, ...claimRow(claim) }, found.etag);
        return etag === undefined ? undefined : { value: claim, etag };
      }
      const etags = await table.transact(partitionKey, [
        { replace: claimRow(claim), etag: found.etag },
        { remove: { rowKey: endsKey(found.value) } },
        { insert: endsRow(claim) },
      ]);
      return etags && { value: claim, etag: String(etags[0]) };
    },

    async release({ value, etag }) {
      const removed = await table.transact(partitionOf(value), [
        { remove: { rowKey: claimKey(value) }, etag },
        { remove: { rowKey: endsKey(value) } },
      ]);
      return removed !== undefined;
    },

    async removeEnded(until, isOver) {
      let removed = 0;
      for (const partitionKey of partitions) {
        const ended = { partitionKey, from: endsPrefix, before: `${endsPrefix}${until}~` };
        for (let before = -1; before < removed && !isOver(); ) {
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
