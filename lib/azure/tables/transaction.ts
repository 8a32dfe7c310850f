import { AsyncLocalStorage } from "node:async_hooks";
import type { TableClient, TransactionAction } from "@azure/data-tables";
import type { Policies } from "../service-errors.ts";
import { checkedEtag } from "./conditions.ts";
import { toEntity, type Value } from "./entity.ts";

/** A row to write into the transaction's partition. */
type Part = { readonly rowKey: string; readonly [property: string]: Value | undefined };

/** One change of a transaction. */
export type Action =
  | { readonly insert: Part }
  | { readonly replace: Part; readonly etag: string }
  | { readonly merge: Part; readonly etag: string }
  | { readonly upsert: Part }
  | { readonly remove: { readonly rowKey: string }; readonly etag?: string };

/** The versions that the removals of the transaction under way name, by row key. */
const removals = new AsyncLocalStorage<ReadonlyMap<string, string>>();

/**
 * Puts the conditions of removals into the batch: the SDK (13.3) writes `If-Match: *` for every delete in a
 * transaction. Sends nothing where it cannot find them all. Of values it takes care that none has an end of a line.
 */
export const conditionalRemovals: Policies[number] = {
  position: "perCall",
  policy: {
    name: "conditionalRemovals",
    sendRequest(request, next) {
      const etags = removals.getStore();
      if (etags !== undefined) request.body = withConditions(withoutLineEnds(String(request.body)), etags);
      return next(request);
    },
  },
};

/** Unicode's own ends of a line stand in JSON as they are, and some readers of a batch, the emulator is one, cut lines there. */
const withoutLineEnds = (batch: string): string =>
  batch.replaceAll("\u2028", "\\u2028").replaceAll("\u2029", "\\u2029");

function withConditions(batch: string, etags: ReadonlyMap<string, string>): string {
  let found = 0;
  const removal = /^(DELETE \S*,RowKey='(\S*)'\)\S* HTTP\/1\.1\r\n(?:.+\r\n)*?If-Match: )\*(?=\r\n)/gim;
  const conditioned = batch.replace(removal, (whole, head: string, key: string) => {
    const etag = etags.get(decodeURIComponent(key).replaceAll("''", "'"));
    if (etag === undefined) return whole;
    found += 1;
    return head + etag;
  });
  if (found !== etags.size)
    throw new Error("A removal's condition has no place in the transaction as the SDK wrote it");
  return conditioned;
}

/** The new etags in the order of `actions`, undefined for removals. Rejects with the SDK's error where any action fails. */
export async function submit(
  client: TableClient,
  partitionKey: string,
  actions: readonly Action[],
  abortSignal: AbortSignal,
): Promise<readonly (string | undefined)[]> {
  const conditions = new Map<string, string>();
  for (const action of actions)
    if ("remove" in action && action.etag !== undefined) conditions.set(action.remove.rowKey, checkedEtag(action.etag));
  const batch = actions.map(action => toSdk(partitionKey, action));
  const { subResponses } = await removals.run(conditions, () => client.submitTransaction(batch, { abortSignal }));
  if (subResponses.length !== actions.length || subResponses.some(({ status }) => status >= 300))
    throw new Error(`Table storage answered ${subResponses.length} of ${actions.length} actions, or an unread failure`);
  return subResponses.map(({ etag }) => etag);
}

function toSdk(partitionKey: string, action: Action): TransactionAction {
  const entity = (part: Part) => toEntity({ ...part, partitionKey });
  if ("remove" in action) return ["delete", entity({ rowKey: action.remove.rowKey })];
  if ("insert" in action) return ["create", entity(action.insert)];
  if ("upsert" in action) return ["upsert", entity(action.upsert), "Replace"];
  const etag = checkedEtag(action.etag);
  if ("replace" in action) return ["update", entity(action.replace), "Replace", { etag }];
  return ["update", entity(action.merge), "Merge", { etag }];
}
