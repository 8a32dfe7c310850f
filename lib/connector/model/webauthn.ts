/** PublicKeyCredentialCreationOptionsJSON of WebAuthn Level 3, binary values base64url. */
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

/** The answer of an IdP to a request for creation options. */
export interface Challenge {
  readonly options: CreationOptions;
  /** The origin that the IdP expects in the client data. */
  readonly origin: string;
  /** After this time the IdP refuses the activation. Absent if the IdP names no expiry. */
  readonly expiresAt?: Date;
  /** The expiry for which the settings asked, if the IdP may grant an earlier one. */
  readonly askedExpiry?: Date;
  /** The state that the IdP kind needs later, as JSON. Stored sealed with the credential, never shown. */
  readonly idpState: Readonly<Record<string, unknown>>;
}

/** A new credential, binary values base64url. */
export interface Attestation {
  readonly credentialId: string;
  readonly clientDataJson: string;
  readonly attestationObject: string;
  readonly clientExtensionResults: Readonly<Record<string, unknown>>;
}
