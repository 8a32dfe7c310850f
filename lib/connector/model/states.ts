export const credentialStates = ["processing", "activation_pending", "active", "failed", "cancelled"] as const;
export const securityKeyStates = ["processing", "complete", "partial", "failed", "cancelled"] as const;
export const requestStates = ["received", "started", "complete", "partial", "failed", "cancelled"] as const;

export type CredentialState = (typeof credentialStates)[number];
export type SecurityKeyState = (typeof securityKeyStates)[number];
export type RequestState = (typeof requestStates)[number];

/**
 * The events of a credential:
 * - `response_decoded`: its response opened with our response key, has a valid signature, and matches the request
 * - `response_rejected`: the decoded response is missing or no longer usable when it is to be activated
 * - `activated`, `refused`: the final answer of the IdP
 * - `not_enrolled`: the enrollment failed
 * - `expired`: `retryable_until` or the expiry of the challenge has passed
 * - `cancelled`: cancelled before the security key was produced
 * - `request_failed`: its request ended `failed` before it started
 */
export type CredentialEvent =
  | "response_decoded"
  | "response_rejected"
  | "activated"
  | "refused"
  | "not_enrolled"
  | "expired"
  | "cancelled"
  | "request_failed";

/** The transition table of credentials (C7). All other transitions are errors. */
export const credentialTransitions: Readonly<
  Record<CredentialState, Readonly<Partial<Record<CredentialEvent, CredentialState>>>>
> = {
  processing: {
    response_decoded: "activation_pending",
    not_enrolled: "failed",
    expired: "failed",
    cancelled: "cancelled",
    request_failed: "failed",
  },
  activation_pending: {
    activated: "active",
    response_rejected: "failed",
    refused: "failed",
    expired: "failed",
    request_failed: "failed",
  },
  active: {},
  failed: {},
  cancelled: {},
};

/** Returns the credential's state after an event. Throws if the table has no such transition. */
export function transition(from: CredentialState, event: CredentialEvent): CredentialState {
  const to = credentialTransitions[from][event];
  if (to === undefined) throw new Error(`a credential that is ${from} cannot be ${event}`);
  return to;
}

/** Whether a state of a credential, a security key or a request never changes again. */
export const isTerminal = (state: CredentialState | SecurityKeyState | RequestState): boolean =>
  state !== "processing" && state !== "activation_pending" && state !== "received" && state !== "started";

/** Returns the state of an item or authenticator from those of its credentials. Throws if there are none. */
export const rollUpSecurityKey = (credentials: readonly CredentialState[]): SecurityKeyState =>
  outcome(credentials, "active") ?? "processing";

/** Returns the state of a request from its own and those of its items and authenticators. Throws without any. */
export const rollUpRequest = (current: RequestState, keys: readonly SecurityKeyState[]): RequestState =>
  isTerminal(current) ? current : (outcome(keys, "complete") ?? current);

/** Returns the state of a request whose order all peers accepted. Throws if it is not `received`. */
export function startRequest(current: RequestState): RequestState {
  if (current !== "received") throw new Error(`a request that is ${current} cannot be started`);
  return "started";
}

function outcome<S extends CredentialState | SecurityKeyState>(
  states: readonly S[],
  good: S,
): "complete" | "partial" | "failed" | "cancelled" | undefined {
  if (states.length === 0) throw new Error("nothing to roll up");
  if (!states.every(isTerminal)) return undefined;
  if (states.every(state => state === good)) return "complete";
  if (states.some(state => state === good || state === "partial")) return "partial";
  return states.every(state => state === "cancelled") ? "cancelled" : "failed";
}

/** The states of the removal of a credential at its IdP. The stored credential keeps its state. */
export const revocationStates = ["revoking", "revoked", "revoke_failed"] as const;

/** The states of a credential in reads (C21). */
export const shownCredentialStates = [...credentialStates, ...revocationStates] as const;

/** Why a credential is revoked: a caller asked for it, its security key is lost or replaced, or its user has left. */
export const revocationReasons = ["requested", "lost", "replaced", "offboarded"] as const;

/** Why a security key is replaced. */
export const replacementReasons = ["lost", "stolen", "broken", "undelivered"] as const;

/** When the replaced security key is revoked: once the new order is placed, or once the new credentials are active. */
export const revokeTimes = ["now", "when_active"] as const;

/** The types of events, without their prefix. */
export const eventTypes = [
  "request.started",
  "key.shipped",
  "key.delivered",
  "key.delivery_failed",
  "credential.active",
  "credential.failed",
  "credential.revoked",
  "pin_mail.sent",
  "pin_mail.given_up",
  "request.ended",
] as const;

export type EventType = (typeof eventTypes)[number];
