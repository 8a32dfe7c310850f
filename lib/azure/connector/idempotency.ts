import type { ClaimStore } from "../../connector/deps.ts";
import type { Claim } from "../../connector/model/idempotency.ts";
import type { Row, Tables } from "../tables/tables.ts";
import { fromClaimRow, schemaVersion } from "./rows.ts";

/** Table of the claims of Idempotency-Keys (decision C6). */
export const claimsTable = "idempotency";

/**
 * A claim and its place in the order of expiry lie in one partition and are written in one transaction, so that neither can be there
 * without the other. Partitions by the first digit of the scope: clean-up looks at sixteen heads, however many claims there are.
 */
const partitions = [..."0123456789abcdef"];
const partitionOf = ({ scope }: Pick<Claim, "scope">): string => scope.slice(0, 1);
const claimPrefix = "claim_";
const claimKey = ({ scope }: Pick<Claim, "scope">): string => claimPrefix + scope;
const endsPrefix = "ends_";
const endsKey = ({ scope, endsAt }: Claim): string => `${endsPrefix}${endsAt}_${scope}`;
/** The scope that a place names. */
const scopeIn = (placeKey: string): string => placeKey.slice(placeKey.lastIndexOf("_") + 1);

const claimRow = ({ answer, ...claim }: Claim) => ({
  rowKey: claimKey(claim),
  schema: schemaVersion,
  ...claim,
  ...(answer !== undefined && { answer: JSON.stringify(answer) }),
});
const endsRow = (claim: Claim) => ({ rowKey: endsKey(claim), schema: schemaVersion, scope: claim.scope });

/** The claim in a row of the table; undefined for a place in the order of expiry. */
export const claimOf = (row: Row): Claim | undefined =>
  row.rowKey.startsWith(claimPrefix) ? fromClaimRow(row) : undefined;

/** The claims in Table storage (docs/storage.md). */
export function claimStore(tables: Tables): ClaimStore {
  const table = tables.table(claimsTable);

  /** Claims that ended and their places; all or none of them. A claim taken over meanwhile has lost its place, so nothing goes. */
  const removeAll = async (places: readonly Row[]): Promise<boolean> => {
    const actions = places.flatMap(({ rowKey }) => [
      { remove: { rowKey } },
      { remove: { rowKey: claimKey({ scope: scopeIn(rowKey) }) } },
    ]);
    return (await table.transact(places[0]?.partitionKey ?? "", actions)) !== undefined;
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
          const places: Row[] = [];
          for await (const row of table.query(ended, { limit: 50 })) places.push(row);
          if (places.length > 0 && (await removeAll(places))) removed += places.length;
          else for (const place of places) if (await removeAll([place])) removed++;
        }
      }
      return removed;
    },
  };
}
