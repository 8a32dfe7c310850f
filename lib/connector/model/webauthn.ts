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
  readonly idpState: Readonly<Record<string, unknown>>;
}

/** A new credential, binary values base64url. */
export interface Attestation {
  readonly credentialId: string;
  readonly clientDataJson: string;
  readonly attestationObject: string;
  readonly clientExtensionResults: Readonly<Record<string, unknown>>;
}

/** What is kept of a challenge to recognise its answer by (decision C18). */
export interface Binding {
  /** base64url SHA-256 of the challenge's bytes. */
  readonly challengeHash: string;
  readonly origin: string;
  readonly relyingPartyId: string;
  /** Whether the options require user verification, that is a PIN. */
  readonly userVerification: boolean;
}
