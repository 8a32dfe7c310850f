import type { Instant } from "../../time.ts";
import type { Credential, CredentialRequest, SecurityKey } from "./request.ts";
import { type CredentialEvent, isTerminal, rollUpRequest, rollUpSecurityKey, transition } from "./states.ts";

/** A credential after an event; what only an open credential needs is dropped when it ends. */
export function afterEvent(credential: Credential, event: CredentialEvent, errorMessage?: string): Credential {
  const { nextAt, held, triedAt, refusal, errorMessage: previous, ...kept } = credential;
  const state = transition(credential.state, event);
  return {
    ...kept,
    state,
    // Of a request out of a backup: its activation may have been tried though its response is read only now.
    ...(triedAt !== undefined && !isTerminal(state) && { triedAt }),
    ...(errorMessage === undefined ? {} : { errorMessage }),
  };
}

/** The key with its roll-up; a first active credential makes its PIN mail due (decision C14). */
export function withRollUp(key: SecurityKey, now: Instant): SecurityKey {
  const state = rollUpSecurityKey(key.credentials.map(credential => credential.state));
  const anyActive = key.credentials.some(credential => credential.state === "active");
  if (key.mail.state === "waiting" && anyActive) {
    return { ...key, state, mail: { ...key.mail, state: "due", firstDueAt: now, nextAt: now } };
  }
  if (key.mail.state === "waiting" && isTerminal(state)) return { ...key, state, mail: { ...key.mail, state: "none" } };
  return { ...key, state };
}

/**
 * The request with its roll-up over all keys. Where it ends, it is due for clean-up and nothing else (decisions C7, C16).
 */
export function rolledUp(request: CredentialRequest, keys: readonly SecurityKey[], now: Instant): CredentialRequest {
  const state = rollUpRequest(
    request.state,
    keys.map(key => key.state),
  );
  if (!isTerminal(state) || isTerminal(request.state)) return { ...request, state };
  const { lease, errorMessage, ...rest } = request;
  const reason = state === "complete" || errorMessage === undefined ? {} : { errorMessage };
  return { ...rest, ...reason, state, terminalAt: now, due: { queue: "clean", at: now } };
}

/** The key with what still waits for it ended by one event; what was answered goes on. */
export function endWaiting(key: SecurityKey, event: CredentialEvent, errorMessage: string, now: Instant): SecurityKey {
  const credentials = key.credentials.map(credential =>
    credential.state === "processing" ? afterEvent(credential, event, errorMessage) : credential,
  );
  return withRollUp({ ...key, credentials }, now);
}

/** All keys and credentials that are still open, ended by one event. */
export function endAll(
  keys: readonly SecurityKey[],
  event: CredentialEvent,
  errorMessage: string,
  now: Instant,
): readonly SecurityKey[] {
  return keys.map(({ lease, due, ...key }) =>
    withRollUp(
      {
        ...key,
        credentials: key.credentials.map(credential =>
          isTerminal(credential.state) ? credential : afterEvent(credential, event, errorMessage),
        ),
      },
      now,
    ),
  );
}
