import { aic } from "../../../../lib/connector/idp/aic/aic.ts";
import type { Idp, RegistrationQuery } from "../../../../lib/connector/idp/contract.ts";
import { entra } from "../../../../lib/connector/idp/entra/entra.ts";
import type { IdpDeps, IdpKind } from "../../../../lib/connector/idp/kind.ts";
import { type IdpSettings, idpKinds, readIdp } from "../../../../lib/connector/idp/kinds.ts";
import { pingone } from "../../../../lib/connector/idp/pingone/pingone.ts";
import type { Attestation, Challenge } from "../../../../lib/connector/model/webauthn.ts";
import { type AicOptions, startAic } from "../../../../local/peers/aic/aic.ts";
import { type EntraOptions, startEntra } from "../../../../local/peers/entra/entra.ts";
import { type PingOneOptions, startPingOne } from "../../../../local/peers/pingone/pingone.ts";
import { type Authenticator, createAuthenticator } from "../../../../local/peers/security-key/authenticator.ts";
import { createAuthenticatorKeys } from "../../../../local/peers/security-key/authenticator-keys.ts";
import { type TestTools, testTools } from "../../../support/connector/peer-tools.ts";

export const user = "jan@example.com";
/** Names the credential at its IdP. */
export const tag = "request-1.s-01-001.1";
export const { signal } = new AbortController();
/** Of the clients of all simulated IdPs. */
export const clientSecret = "secret";
export const environmentId = "11111111-2222-3333-4444-555555555555";

/** The security key that all simulated IdPs trust. */
const authenticator = createAuthenticator(await createAuthenticatorKeys());
const client = { clientId: "3f2b", clientSecret, attestationRoot: authenticator.rootCertificate };
const journey = { realm: "alpha", journey: "Register Key" };

/** Starts a simulated IdP of a kind. */
export const start = {
  entra: (changes: Partial<EntraOptions> = {}) => startEntra({ tenantId: "tenant.example", ...client, ...changes }),
  pingone: (changes: Partial<PingOneOptions> = {}) => startPingOne({ environmentId, ...client, ...changes }),
  aic: (changes: Partial<AicOptions> = {}) =>
    startAic({ ...journey, relyingPartyId: "keys.example", ...client, ...changes }),
};

/** Returns the settings without which an IdP of a kind cannot be connected. */
export const least = {
  entra: (url: string) => ({
    type: "entra",
    "tenant-id": "tenant.example",
    "client-id": client.clientId,
    "graph-endpoint": url,
    "online-endpoint": url,
  }),
  pingone: (url: string) => ({
    type: "pingone",
    "default-relying-party": "keys.example",
    "api-base-url": url,
    "auth-base-url": url,
    "environment-id": environmentId,
    "client-id": client.clientId,
  }),
  aic: (url: string) => ({
    type: "aic",
    "api-base-url": url,
    "auth-base-url": url,
    ...journey,
    "client-id": client.clientId,
  }),
};

/** Returns the settings of an IdP from values that are sent as texts. */
export function idpSettings<S = IdpSettings>({ type, ...values }: Readonly<Record<string, unknown>>): S {
  const kind = idpKinds.find(each => each.type === type);
  if (kind === undefined) throw new Error(`no kind ${type}`);
  const read = readIdp(kind, textsOf(values));
  if ("type" in read) return read as S;
  throw new Error(JSON.stringify(read));
}

/** Returns values as a file or the environment has them. */
export const textsOf = (values: object): Readonly<Record<string, string>> =>
  Object.fromEntries(
    Object.entries(values)
      .filter(([, value]) => value !== undefined)
      .map(([key, value]) => [key, String(value)]),
  );

/** Returns what connects IdPs of a kind that are simulated at an address. */
export const toolsFor = {
  entra: (url: string) => idpTools(entra, least.entra(url)),
  pingone: (url: string) => idpTools(pingone, least.pingone(url)),
  aic: (url: string) => idpTools(aic, least.aic(url)),
};

/** Connects IdPs of one kind, with a clock that stands still. */
export interface IdpTools {
  readonly tools: TestTools;
  /** @param values on top of the kind's least settings */
  connect(values?: Record<string, unknown>, changes?: Partial<IdpDeps>): Idp;
  queryFor(credentialId: string, name?: string): RegistrationQuery;
}

function idpTools<S extends { readonly type: string }, K extends string>(
  kind: IdpKind<S, K>,
  least: Record<string, unknown>,
): IdpTools {
  const tools = testTools();
  return {
    tools,
    connect: (values = {}, changes = {}) =>
      kind.connect("main", idpSettings<S>({ ...least, ...values }), {
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
export function answerTo({ options, origin }: Challenge, by: Authenticator = authenticator): Attestation {
  const { id, clientDataJSON, attestationObject } = by.create(options, origin);
  return { credentialId: id, clientDataJson: clientDataJSON, attestationObject, clientExtensionResults: {} };
}
