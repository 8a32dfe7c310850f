import { AsyncLocalStorage } from "node:async_hooks";
import type { TableClient, TransactionAction } from "@azure/data-tables";
import { checkedEtag, type Entity, toEntity } from "./rows.ts";
import type { Policies } from "./services.ts";

/** Maximum number of actions of a transaction. */
export const transactionSize = 100;

/** A row to write into the transaction's partition. */
type Part = { readonly rowKey: string; readonly [property: string]: Entity[string] };

/** One change of a transaction. */
export type Action =
  | { readonly insert: Part }
  | { readonly replace: Part; readonly etag: string }
  | { readonly merge: Part; readonly etag: string }
  | { readonly upsert: Part }
  | { readonly remove: { readonly rowKey: string }; readonly etag?: string };

/** ETags of the removals of the current transaction, by row key. */
const removals = new AsyncLocalStorage<ReadonlyMap<string, string>>();

/**
 * Writes the conditions of removals into the batch, because the SDK (13.3) sends `If-Match: *` for every removal of a
 * transaction. Throws before anything is sent if it does not find all removals. Also escapes line separators in values.
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

/**
 * Table storage responds with 202 to a transaction whose action failed, even with a 503, so the SDK (13.3) does not
 * retry it. Gives the response the status of the failed action if the SDK retries that status.
 */
export const retryableTransactions: Policies[number] = {
  position: "perRetry",
  policy: {
    name: "retryableTransactions",
    async sendRequest(request, next) {
      const response = await next(request);
      const failed =
        response.status === 202 ? /^HTTP\/1\.1 (408|500|502|503|504)\b/m.exec(response.bodyAsText ?? "") : null;
      return failed === null ? response : { ...response, status: Number(failed[1]) };
    },
  },
};

/**
 * JSON does not escape Unicode's line separators, and some parsers of batches, such as the emulator's, split lines at
 * them.
 */
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
    throw new Error("The SDK's batch does not have an If-Match header for each conditional removal");
  return conditioned;
}

/**
 * Runs a transaction. Returns the new ETags in the order of `actions`, undefined for removals. Rejects with the SDK's
 * error if an action fails.
 */
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
    throw new Error(
      `Table storage returned ${subResponses.length} results for ${actions.length} actions, or an unknown failure`,
    );
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
