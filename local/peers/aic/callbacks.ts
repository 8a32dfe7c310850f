/** How the registration node sends its options: as data, as data of older versions, or as a script. */
export const AIC_FORMS = ["metadata", "plain", "script"] as const;
export type AicForm = (typeof AIC_FORMS)[number];

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
  const data = { ...plain(options), ...(form === "metadata" && parsed(options)) };
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
const parameters = `[ ${PARAMETERS.map(({ type, alg }) => `{ "type": "${type}", "alg": ${alg} }`).join(", ")} ]`;
const excluded = (taken: readonly Buffer[]) =>
  taken.map(id => `{ "type": "public-key", "id": new Int8Array([${signed(id).join(", ")}]).buffer }`).join(",");

const plain = ({ rpId, userName, userId, challenge, taken }: AicOptions) => ({
  _type: "WebAuthn",
  challenge: challenge.toString("base64"),
  attestationPreference: "direct",
  userName,
  userId,
  displayName: userName,
  relyingPartyName: RP_NAME,
  relyingPartyId: `id: "${rpId}",`,
  authenticatorSelection: JSON.stringify(SELECTION),
  pubKeyCredParams: parameters,
  excludeCredentials: excluded(taken),
  timeout: "60000",
});

const parsed = ({ rpId, taken }: AicOptions) => ({
  _action: "webauthn_registration",
  _relyingPartyId: rpId,
  _authenticatorSelection: SELECTION,
  _pubKeyCredParams: PARAMETERS,
  _excludeCredentials: taken.map(id => ({ type: "public-key", id: signed(id) })),
  extensions: {},
  supportsJsonResponse: true,
});
