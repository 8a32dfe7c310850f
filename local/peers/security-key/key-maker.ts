import type { State } from "../state-file.ts";
import { type Authenticator, createAuthenticator } from "./authenticator.ts";
import { type AuthenticatorKeys, type AuthenticatorKind, createAuthenticatorKeys } from "./authenticator-keys.ts";
import { type Keyring, rotate } from "./keyring.ts";

/** What the maker of authenticators keeps. */
export interface KeyMakerState {
  keyring: Keyring;
  authenticator?: AuthenticatorKeys;
}

/** The maker behind the delivery service and the enrollment services: requests are encrypted to it, responses signed by it. */
export interface KeyMaker {
  /** Changed in place when keys are rotated. */
  readonly keyring: Keyring;
  /** All with one attestation root. */
  readonly authenticators: Readonly<Record<AuthenticatorKind, Authenticator>>;
}

/** The maker that `file` tells of; what it lacks is made now and kept there. */
export async function openKeyMaker(file: State<KeyMakerState>): Promise<KeyMaker> {
  const { keyring } = file.value;
  if (keyring.transport.length === 0) await rotate(keyring);
  // A file of before there were several kinds has no batches.
  if (file.value.authenticator?.batches === undefined) file.value.authenticator = await createAuthenticatorKeys();
  const keys = file.value.authenticator;
  file.save();
  return {
    keyring,
    authenticators: { hardware: createAuthenticator(keys), software: createAuthenticator(keys, "software") },
  };
}
