import type { Clock } from "../model/intervals.ts";
import type { Changes, LoadedRequest } from "../model/loaded-request.ts";
import { releaseLease } from "../model/next-due.ts";
import type { CredentialRequest } from "../model/request.ts";
import { endWaiting, rolledUp } from "../model/roll-up.ts";
import { hasProgressed, type SecurityKey } from "../model/security-key.ts";
import { isTerminal, startRequest } from "../model/states.ts";

/** Whether a security key ends with its request: it is open, and no response of it has come. */
export const endsWithRequest = (key: SecurityKey): boolean => !isTerminal(key.state) && !hasProgressed(key);

/**
 * Returns the changes that end a request whose order was not sent, or never confirmed. Authenticators with a response
 * continue, and the request with them: they were enrolled while a shipment was linked tentatively, and are in use. An
 * order intent is kept, because a shipment may exist.
 */
export function failedRequest(loaded: LoadedRequest, reason: string, clock: Clock): Required<Changes> {
  const now = clock.now();
  const all = loaded.keys.map(key =>
    endsWithRequest(key) ? releaseLease(endWaiting(key, "request_failed", reason, now), clock) : key,
  );
  const { lease, due, ...value } = loaded.request;
  const isUnsent = value.delivery?.sentAt === undefined;
  const ended = rolledUp({ ...value, ...(isUnsent && { neverSent: true }), errorMessage: reason }, all, now);
  const request = isTerminal(ended.state) ? ended : { ...ended, state: startRequest(ended.state), attempts: 0 };
  return { request, keys: all.filter((key, index) => key !== loaded.keys[index]) };
}

/** Returns the request without its order intent, for an order that was not sent or was refused. */
export function withoutOrderIntent({ delivery: _, ...request }: CredentialRequest): CredentialRequest {
  return request;
}
