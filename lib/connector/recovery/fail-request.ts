import type { Instant } from "../../time.ts";
import type { Changes, ConnectorDeps, LoadedRequest } from "../deps.ts";
import type { CredentialRequest } from "../model/request.ts";
import { endAll, rolledUp } from "../model/roll-up.ts";

/**
 * Ends a request that never started as `failed`, with its security keys and credentials. Returns undefined on a conflict.
 * @param order `never_sent` removes the order intent; `never_confirmed` keeps it, because a shipment may exist
 */
export const failRequest = (
  loaded: LoadedRequest,
  reason: string,
  deps: Pick<ConnectorDeps, "requests" | "now">,
  order: "never_sent" | "never_confirmed" = "never_sent",
): Promise<LoadedRequest | undefined> => deps.requests.save(loaded, failedRequest(loaded, reason, deps.now(), order));

/** Returns the changes by which `failRequest` ends a request. */
export function failedRequest(
  loaded: LoadedRequest,
  reason: string,
  now: Instant,
  order: "never_sent" | "never_confirmed" = "never_sent",
): Required<Changes> {
  const keys = endAll(
    loaded.keys.map(({ value }) => value),
    "request_failed",
    reason,
    now,
  );
  const { value } = loaded.request;
  const unsent = order === "never_sent" ? { ...withoutOrderIntent(value), neverSent: true } : value;
  return { request: rolledUp({ ...unsent, errorMessage: reason }, keys, now), keys };
}

/** Returns the request without its order intent, for an order that was not sent or was refused. */
export function withoutOrderIntent({ delivery: _, ...request }: CredentialRequest): CredentialRequest {
  return request;
}
