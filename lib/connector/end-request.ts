import type { ConnectorDeps, Loaded } from "./ports.ts";
import type { CredentialRequest } from "./request.ts";
import { endedKeys, rolledUp } from "./roll-up.ts";
import { write } from "./write.ts";

/**
 * Ends a request that never started, with all below it (decision C7). Its delivery mark goes: nothing is to be settled.
 * Returns undefined when a row changed meanwhile.
 */
export function failRequest(
  loaded: Loaded,
  reason: string,
  deps: Pick<ConnectorDeps, "requests" | "now">,
): Promise<Loaded | undefined> {
  const now = deps.now();
  const keys = endedKeys(
    loaded.keys.map(({ value }) => value),
    "request_failed",
    reason,
    now,
  );
  const { delivery: _, ...request } = loaded.request.value;
  return write(loaded, { request: rolledUp({ ...request, errorMessage: reason }, keys, now), keys }, deps);
}

/** The request without its delivery mark: the delivery service did not get it, or said no. */
export function withoutMark({ delivery: _, ...request }: CredentialRequest): CredentialRequest {
  return request;
}
