import type { Instant } from "../../platform/time.ts";
import { type Credential, isUsable } from "./credential.ts";
import type { CredentialRequest } from "./request.ts";
import { firstAttempt } from "./retry.ts";
import type { SecurityKey } from "./security-key.ts";
import { type CredentialEvent, isTerminal, rollUpRequest, rollUpSecurityKey, transition } from "./states.ts";

/**
 * Returns the credential after an event. Columns for further attempts are dropped. One that was attempted and ends
 * without an activation may be registered at its IdP.
 */
export function afterEvent(credential: Credential, event: CredentialEvent, errorMessage?: string): Credential {
  const { retry, triedAt, refusal, errorMessage: previous, ...kept } = credential;
  const state = transition(credential.state, event);
  // A credential from a backup may have been activated before its response is read here, so the attempt is kept.
  const isTried = triedAt !== undefined;
  return {
    ...kept,
    state,
    ...(isTried && !isTerminal(state) && { triedAt }),
    ...(isTried && isTerminal(state) && state !== "active" && { mayBeRegistered: true }),
    ...(errorMessage === undefined ? {} : { errorMessage }),
  };
}

/**
 * Returns the security key with its rolled-up state. The first active credential makes its PIN email due. An email that
 * is due ends when no credential can be used any more.
 */
export function withRollUp(key: SecurityKey, now: Instant): SecurityKey {
  const state = rollUpSecurityKey(key.credentials.map(credential => credential.state));
  const anyActive = key.credentials.some(credential => credential.state === "active");
  if (key.mail.state === "waiting" && anyActive) {
    return { ...key, state, mail: { ...key.mail, state: "due", firstDueAt: now, retry: firstAttempt(now) } };
  }
  if (key.mail.state === "waiting" && isTerminal(state)) return { ...key, state, mail: { ...key.mail, state: "none" } };
  if (key.mail.state === "due" && !key.credentials.some(isUsable)) {
    const { triedAt, accepted, retry = firstAttempt(now), ...mail } = key.mail;
    const lastError = "No PIN email is sent: every credential of the security key is revoked or has failed.";
    return { ...key, state, mail: { ...mail, state: "none", retry: { ...retry, lastError } } };
  }
  return { ...key, state };
}

/**
 * Returns the request with its state rolled up over all security keys. When it ends, it is due for clean-up only. The
 * security key that it replaces is looked at now.
 */
export function rolledUp(request: CredentialRequest, keys: readonly SecurityKey[], now: Instant): CredentialRequest {
  const state = rollUpRequest(
    request.state,
    keys.map(key => key.state),
  );
  const { replaceDue } = request;
  const followed = { ...request, state, ...(replaceDue && { replaceDue: { ...replaceDue, at: now } }) };
  if (!isTerminal(state) || isTerminal(request.state)) return followed;
  const { lease, cancelling, errorMessage, ...rest } = followed;
  const reason = state === "complete" || errorMessage === undefined ? {} : { errorMessage };
  return { ...rest, ...reason, terminalAt: now, due: { queue: "clean", at: now } };
}

/** Returns the security key after an event of some of its credentials. The others continue. */
export function endCredentials(
  key: SecurityKey,
  isEnded: (credential: Credential, index: number) => boolean,
  { event, reason }: { readonly event: CredentialEvent; readonly reason: string },
  now: Instant,
): SecurityKey {
  const credentials = key.credentials.map((credential, index) =>
    isEnded(credential, index) ? afterEvent(credential, event, reason) : credential,
  );
  return withRollUp({ ...key, credentials }, now);
}

/** Returns the security key after an event of its credentials without a response. Those with a response continue. */
export const endWaiting = (key: SecurityKey, event: CredentialEvent, reason: string, now: Instant): SecurityKey =>
  endCredentials(key, ({ state }) => state === "processing", { event, reason }, now);
