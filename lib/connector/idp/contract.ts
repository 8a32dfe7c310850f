import type { Instant } from "../../time.ts";
import type { Attestation, Challenge } from "../model/webauthn.ts";

/** A credential as an IdP is asked for it. */
export interface OptionsRequest {
  readonly userId: string;
  readonly relyingPartyId?: string;
  /** Unique to this credential: what the IdP begins for it is found by this, also where the answer is lost. */
  readonly tag: string;
}

/** The credential of an activation that was not answered. */
export interface RegistrationQuery {
  readonly credentialId: string;
  /** The name that the activation gave it. */
  readonly name: string;
  /** When the first unanswered activation was sent. */
  readonly since: Instant;
}

/** Bounds of a call that changes something: it is not begun after `notAfter`, also by a process that was stopped for a while. */
export interface CallLimits {
  readonly signal: AbortSignal;
  readonly notAfter?: Instant;
}

/**
 * What the connector asks of any identity provider. Every call is ended by its signal and fails with `PeerFailure` only.
 * Activation is not idempotent anywhere (decision C8): the caller records a try before `activate` and reads back after an
 * unanswered one.
 */
export interface Idp {
  readonly id: string;
  /** The relying party of this IdP: a request that names another one is refused before the IdP is asked. */
  readonly defaultRelyingPartyId: string;
  creationOptions(wanted: OptionsRequest, signal: AbortSignal): Promise<Challenge>;
  /** @param name shown at the IdP: `<name>: <serial>` (decision C13) */
  activate(idpState: Challenge["idpState"], attestation: Attestation, name: string, limits: CallLimits): Promise<void>;
  /** Whether the credential is registered; undefined where the IdP offers no read-back, or none that is certain. */
  isRegistered(
    idpState: Challenge["idpState"],
    sought: RegistrationQuery,
    signal: AbortSignal,
  ): Promise<boolean | undefined>;
  /** Takes back what `creationOptions` began; nothing where the IdP keeps no state. Safe to repeat. */
  compensate(idpState: Challenge["idpState"], signal: AbortSignal): Promise<void>;
  /**
   * Removes what a call of `creationOptions` began whose answer was lost. Absent where the IdP keeps no state. Safe to repeat, and
   * safe where nothing was begun.
   */
  readonly compensateUnanswered?: (wanted: OptionsRequest, signal: AbortSignal) => Promise<void>;
}
