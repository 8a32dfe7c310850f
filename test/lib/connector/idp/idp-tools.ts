import type { Idp, RegistrationQuery } from "../../../../lib/connector/idp/contract.ts";
import type { IdpDeps, IdpKind } from "../../../../lib/connector/idp/kind.ts";
import type { Attestation, Challenge } from "../../../../lib/connector/model/webauthn.ts";
import type { Authenticator } from "../../../../local/peers/security-key/authenticator.ts";
import { type TestTools, testTools } from "../../../support/connector/peer-tools.ts";

export const user = "jan@example.com";
/** Names the credential at its IdP. */
export const tag = "request-1.s-01-001.1";
export const { signal } = new AbortController();
/** Of the clients of all simulated IdPs. */
export const clientSecret = "secret";

/** Connects IdPs of one kind, with a clock that stands still. */
export interface IdpTools {
  readonly tools: TestTools;
  /** @param values on top of the kind's least settings */
  connect(values?: Record<string, unknown>, changes?: Partial<IdpDeps>): Idp;
  queryFor(credentialId: string, name?: string): RegistrationQuery;
}

/** @param least the settings without which the IdP cannot be connected */
export function idpTools<S extends { readonly type: string }, K extends string>(
  kind: IdpKind<S, K>,
  least: () => Record<string, unknown>,
): IdpTools {
  const tools = testTools();
  return {
    tools,
    connect: (values = {}, changes = {}) =>
      kind.connect("main", kind.settings.parse({ ...least(), ...values }), {
        ...tools,
        timeLimitMs: 20_000,
        secret: async () => clientSecret,
        managedIdentityToken: () => Promise.reject(new Error("the app has no identity")),
        ...changes,
      }),
    queryFor: (credentialId, name = "Desk key: 30000001") => ({ credentialId, name, since: tools.now() }),
  };
}

/** Asks for creation options. */
export const askFor = (idp: Idp, userId = user, relyingPartyId?: string): Promise<Challenge> =>
  idp.creationOptions({ userId, tag, ...(relyingPartyId === undefined ? {} : { relyingPartyId }) }, signal);

/** Returns the answer of a security key to a challenge. */
export function answerBy(authenticator: Authenticator, { options, origin }: Challenge): Attestation {
  const { id, clientDataJSON, attestationObject } = authenticator.create(options, origin);
  return { credentialId: id, clientDataJson: clientDataJSON, attestationObject, clientExtensionResults: {} };
}
