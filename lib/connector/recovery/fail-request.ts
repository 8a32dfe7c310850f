import type { ConnectorDeps, LoadedRequest } from "../deps.ts";
import type { CredentialRequest } from "../model/request.ts";
import { endAll, rolledUp } from "../model/roll-up.ts";
import { saveRequest } from "../store/save-request.ts";

/**
 * Ends a request that never started, with all below it (decision C7). Returns undefined when a row changed meanwhile.
 * @param order `never_sent`: its delivery mark goes; `never_confirmed`: the mark stays, because a shipment may exist
 */
export function failRequest(
  loaded: LoadedRequest,
  reason: string,
  deps: Pick<ConnectorDeps, "requests" | "now">,
  order: "never_sent" | "never_confirmed" = "never_sent",
): Promise<LoadedRequest | undefined> {
  const now = deps.now();
  const keys = endAll(
    loaded.keys.map(({ value }) => value),
    "request_failed",
    reason,
    now,
  );
  const { value } = loaded.request;
  const unsent = order === "never_sent" ? { ...withoutOrderIntent(value), neverSent: true } : value;
  return saveRequest(loaded, { request: rolledUp({ ...unsent, errorMessage: reason }, keys, now), keys }, deps);
}

/** The request without its delivery mark: the delivery service did not get it, or said no. */
export function withoutOrderIntent({ delivery: _, ...request }: CredentialRequest): CredentialRequest {
  return request;
}
