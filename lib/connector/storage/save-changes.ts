import { conflict, retryOnConflict } from "../../platform/retry-on-conflict.ts";
import type { Changes, ConnectorDeps, LoadedRequest } from "../deps.ts";

/**
 * Saves changes of a request. On a conflict, reads the request again and applies `change` to it.
 * @param change returns undefined if nothing is to be saved any more
 * @param options as for `RequestStore.save`
 * @returns the saved request; undefined if `change` returned none or the request is gone
 */
export async function saveChanges(
  loaded: LoadedRequest,
  change: (current: LoadedRequest) => Changes | undefined | Promise<Changes | undefined>,
  { requests }: Pick<ConnectorDeps, "requests">,
  options?: { readonly isUrgent?: boolean },
): Promise<LoadedRequest | undefined> {
  let current: LoadedRequest | undefined = loaded;
  return retryOnConflict(async () => {
    const changes = current && (await change(current));
    if (current === undefined || changes === undefined) return undefined;
    const saved = await requests.save(current, changes, options);
    if (saved !== undefined) return saved;
    current = await requests.load(loaded.request.value.id);
    return conflict;
  });
}
