export const credentialStates = ["processing", "activation_pending", "active", "failed", "cancelled"] as const;
export const securityKeyStates = ["processing", "complete", "partial", "failed", "cancelled"] as const;
export const requestStates = ["received", "started", "complete", "partial", "failed", "cancelled"] as const;

export type CredentialState = (typeof credentialStates)[number];
export type SecurityKeyState = (typeof securityKeyStates)[number];
export type RequestState = (typeof requestStates)[number];

/**
 * What can happen to a credential:
 * - `response_decoded`: its key's response opened with our keys and carries our signer's signature
 * - `response_rejected`: the response that was decoded is lost, or of no use any more, when it is to be activated (decision C11)
 * - `activated`, `refused`: the IdP's last word (decision C8)
 * - `not_enrolled`: the enrollment side could not make it (decision C12)
 * - `expired`: `retryable_until` or the challenge's end has passed (decision C8)
 * - `cancelled`: given up before the key was produced (decisions C10, C19)
 * - `request_failed`: its request ended `failed` before it started (decision C7)
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

/** Every transition of a credential (decision C7). What is not here can not happen. */
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

/** The credential's state after an event. Throws on an event that this state does not know: the caller should have looked. */
export function transition(from: CredentialState, event: CredentialEvent): CredentialState {
  const to = credentialTransitions[from][event];
  if (to === undefined) throw new Error(`a credential that is ${from} can not be ${event}`);
  return to;
}

/** Whether a state of a credential, a key or a request never changes again (decision C7). */
export const isTerminal = (state: CredentialState | SecurityKeyState | RequestState): boolean =>
  state !== "processing" && state !== "activation_pending" && state !== "received" && state !== "started";

/** State of an item or authenticator from those of its credentials, in any order (decision C7). Throws where there are none. */
export const rollUpSecurityKey = (credentials: readonly CredentialState[]): SecurityKeyState =>
  outcome(credentials, "active") ?? "processing";

/** The request's state from its own and those of its items and authenticators, in any order (decision C7). Throws where there are none. */
export const rollUpRequest = (current: RequestState, keys: readonly SecurityKeyState[]): RequestState =>
  isTerminal(current) ? current : (outcome(keys, "complete") ?? current);

/** A received request whose order has been taken by everybody who had to (decision C6). Throws in any other state. */
export function startRequest(current: RequestState): RequestState {
  if (current !== "received") throw new Error(`a request that is ${current} can not be started`);
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
