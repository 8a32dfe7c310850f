/** How the registration node sends its options: as data, or as a script. */
export const AIC_FORMS = ["metadata", "script"] as const;
type AicForm = (typeof AIC_FORMS)[number];

export interface AicOptions {
  readonly rpId: string;
  readonly userName: string;
  /** As AM stores it: text in base64, which clients do not decode. */
  readonly userId: string;
  readonly challenge: Buffer;
  /** Credential ids. */
  readonly taken: readonly Buffer[];
}

export const askForName = () => ({
  type: "NameCallback",
  output: [{ name: "prompt", value: "User Name" }],
  input: [{ name: "IDToken1", value: "" }],
});

/** Returns the callbacks of the registration node; the last one receives the outcome. */
export function askForCredential(form: AicForm, options: AicOptions): readonly object[] {
  // No client here reads a script.
  if (form === "script") return [textOutput("var publicKey = {};"), textOutput(""), hidden("IDToken3")];
  const data = dataOf(options);
  return [{ type: "MetadataCallback", output: [{ name: "data", value: data }] }, hidden("IDToken2")];
}

const hidden = (tokenId: string) => ({
  type: "HiddenValueCallback",
  output: [
    { name: "value", value: "false" },
    { name: "id", value: "webAuthnOutcome" },
  ],
  input: [{ name: tokenId, value: "webAuthnOutcome" }],
});

const textOutput = (message: string) => ({
  type: "TextOutputCallback",
  output: [
    { name: "message", value: message },
    { name: "messageType", value: "4" },
  ],
});

const PARAMETERS = [-257, -7].map(alg => ({ type: "public-key", alg }));
const SELECTION = { userVerification: "required", authenticatorAttachment: "cross-platform" };
const RP_NAME = "Simulated Journey";

const signed = (bytes: Buffer) => [...new Int8Array(bytes)];

const dataOf = ({ rpId, userName, userId, challenge, taken }: AicOptions) => ({
  _type: "WebAuthn",
  _action: "webauthn_registration",
  challenge: challenge.toString("base64"),
  attestationPreference: "direct",
  userName,
  userId,
  displayName: userName,
  relyingPartyName: RP_NAME,
  _relyingPartyId: rpId,
  _authenticatorSelection: SELECTION,
  _pubKeyCredParams: PARAMETERS,
  _excludeCredentials: taken.map(id => ({ type: "public-key", id: signed(id) })),
  timeout: "60000",
  extensions: {},
  supportsJsonResponse: true,
});
