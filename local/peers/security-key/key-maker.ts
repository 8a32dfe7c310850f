import type { State } from "../state-file.ts";
import { createAuthenticator } from "./authenticator.ts";
import { type AuthenticatorKeys, createAuthenticatorKeys } from "./authenticator-keys.ts";
import { type Keyring, rotate } from "./keyring.ts";

/** The state of the maker of authenticators. */
export interface KeyMakerState {
  keyring: Keyring;
  authenticator?: AuthenticatorKeys;
}

/** The maker behind the delivery service and the enrollment services: requests are encrypted for it, and it signs the responses. */
export type KeyMaker = Awaited<ReturnType<typeof openKeyMaker>>;

let newMakersKeys: Promise<AuthenticatorKeys> | undefined;

/** Returns the maker whose state is in `file`. Creates what the file lacks and saves it. */
export async function openKeyMaker(file: State<KeyMakerState>) {
  const { keyring } = file.value;
  if (keyring.transport.length === 0) await rotate(keyring);
  // A file of an earlier version has no batches.
  if (file.value.authenticator?.batches === undefined) {
    // New makers of one process share a root, because certificates take longer to create than the maker to start.
    newMakersKeys ??= createAuthenticatorKeys();
    file.value.authenticator = await newMakersKeys;
  }
  const keys = file.value.authenticator;
  file.save();
  return {
    /** Changed in place when keys are rotated. */
    keyring,
    /** Authenticators with one attestation root. */
    authenticators: { hardware: createAuthenticator(keys), software: createAuthenticator(keys, "software") },
  };
}
