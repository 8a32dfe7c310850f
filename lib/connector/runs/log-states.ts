import type { Log } from "../../platform/log.ts";
import type { RequestStore } from "../deps.ts";

/**
 * Returns the store with a log event for each new state of a request. The store itself logs none, because a restore inserts
 * requests whose states are not new.
 */
export const logStates = (store: RequestStore, log: Log): RequestStore => ({
  ...store,
  async insert(request, keys) {
    const loaded = await store.insert(request, keys);
    log.info("request_state", { credentialRequestId: request.id, state: request.state });
    return loaded;
  },
  async save(loaded, changes, options) {
    const saved = await store.save(loaded, changes, options);
    const from = loaded.request.value.state;
    const state = changes.request?.state ?? from;
    if (saved !== undefined && state !== from) {
      log.info("request_state", { credentialRequestId: loaded.request.value.id, state, from });
    }
    return saved;
  },
});
