import type { Instant } from "../../platform/time.ts";
import type { ConnectorDeps } from "../deps.ts";
import type { Credential } from "../model/credential.ts";
import type { Changes, LoadedRequest } from "../model/loaded-request.ts";
import { releaseLease } from "../model/next-due.ts";
import type { CredentialRequest } from "../model/request.ts";
import { endCredentials, endWaiting, rolledUp } from "../model/roll-up.ts";
import { hasProgressed, type SecurityKey } from "../model/security-key.ts";
import { isTerminal, startRequest } from "../model/states.ts";

/**
 * Returns the changes that end a request which was never sent to the delivery service as `failed`, with its security
 * keys and credentials.
 */
export function failedRequest(loaded: LoadedRequest, reason: string, now: Instant): Required<Changes> {
  const isOpen = ({ state }: Credential) => !isTerminal(state);
  const keys = loaded.keys.map(({ lease, due, ...key }) =>
    endCredentials(key, isOpen, { event: "request_failed", reason }, now),
  );
  const unsent = { ...withoutOrderIntent(loaded.request), neverSent: true };
  return { request: rolledUp({ ...unsent, errorMessage: reason }, keys, now), keys };
}

/**
 * Ends the security keys of a request whose order was never confirmed, and the request if none is left. Authenticators
 * with a response continue: they were enrolled while a shipment was linked tentatively, and are in use. Keeps the order
 * intent, because a shipment may exist. Returns undefined on a conflict.
 */
export function endUnconfirmed(
  loaded: LoadedRequest,
  reason: string,
  deps: Pick<ConnectorDeps, "requests" | "now" | "intervals">,
): Promise<LoadedRequest | undefined> {
  const now = deps.now();
  const isEnded = (key: SecurityKey) => !isTerminal(key.state) && !hasProgressed(key);
  const all = loaded.keys.map(key =>
    isEnded(key) ? releaseLease(endWaiting(key, "request_failed", reason, now), deps) : key,
  );
  const keys = all.filter((key, index) => key !== loaded.keys[index]);
  const { lease, due, ...value } = loaded.request;
  const ended = rolledUp({ ...value, errorMessage: reason }, all, now);
  const request = isTerminal(ended.state) ? ended : { ...ended, state: startRequest(ended.state), attempts: 0 };
  return deps.requests.save(loaded, { request, keys });
}

/** Returns the request without its order intent, for an order that was not sent or was refused. */
export function withoutOrderIntent({ delivery: _, ...request }: CredentialRequest): CredentialRequest {
  return request;
}
