import type { ConnectorDeps, LoadedRequest } from "../deps.ts";
import type { CredentialRequest } from "../model/request.ts";
import { endAll, rolledUp } from "../model/roll-up.ts";

/**
 * Ends a request that never started as `failed`, with its security keys and credentials. Returns undefined on a conflict.
 * @param order `never_sent` removes the order intent; `never_confirmed` keeps it, because a shipment may exist
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
  return deps.requests.save(loaded, { request: rolledUp({ ...unsent, errorMessage: reason }, keys, now), keys });
}

/** Returns the request without its order intent, for an order that was not sent or was refused. */
export function withoutOrderIntent({ delivery: _, ...request }: CredentialRequest): CredentialRequest {
  return request;
}
