import type { Instant } from "../../time.ts";

/** WebAuthn creation options as JSON, binary values base64url (WebAuthn Level 3, PublicKeyCredentialCreationOptionsJSON). */
export interface CreationOptions {
  readonly rp: { readonly id: string; readonly name: string };
  readonly user: { readonly id: string; readonly name: string; readonly displayName: string };
  readonly challenge: string;
  readonly pubKeyCredParams: readonly { readonly type: "public-key"; readonly alg: number }[];
  readonly timeout?: number;
  readonly excludeCredentials?: readonly { readonly type: "public-key"; readonly id: string }[];
  readonly authenticatorSelection?: Readonly<Record<string, unknown>>;
  readonly attestation?: string;
  readonly extensions?: Readonly<Record<string, unknown>>;
}

/** What an IdP answers when asked for a credential. */
export interface Challenge {
  readonly options: CreationOptions;
  /** The origin that the IdP expects in the client data. */
  readonly origin: string;
  /** After this the IdP refuses the activation; absent where the IdP names no end. */
  readonly expiresAt?: Date;
  /** What this kind needs to activate, read back and undo; stored with the credential, never shown. Small, JSON. */
  readonly handle: Readonly<Record<string, unknown>>;
}

/** A new credential, binary values base64url. */
export interface Attestation {
  readonly credentialId: string;
  readonly clientDataJson: string;
  readonly attestationObject: string;
  readonly clientExtensionResults: Readonly<Record<string, unknown>>;
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
  creationOptions(wanted: { userId: string; relyingPartyId?: string }, signal: AbortSignal): Promise<Challenge>;
  /** @param name shown at the IdP: `<name>: <serial>` (decision C13) */
  activate(handle: Challenge["handle"], attestation: Attestation, name: string, limits: CallLimits): Promise<void>;
  /** Whether a credential with this id is registered; undefined where the IdP offers no read-back. */
  isRegistered(handle: Challenge["handle"], credentialId: string, signal: AbortSignal): Promise<boolean | undefined>;
  /** Takes back what `creationOptions` began; nothing where the IdP keeps no state. Safe to repeat. */
  undo(handle: Challenge["handle"], signal: AbortSignal): Promise<void>;
}
