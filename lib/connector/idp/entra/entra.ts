import * as z from "zod";
import type { PeerAccess } from "../../../platform/call-peer.ts";
import { PeerFailure } from "../../../platform/peer-failure.ts";
import { minutes, plus } from "../../../platform/time.ts";
import { idpName } from "../../model/peer-names.ts";
import type { Challenge } from "../../model/webauthn.ts";
import { type AccessTokens, createAccessTokens, peerApi, undefinedIfGone } from "../../peers/access-token.ts";
import { grantByClientCredentials } from "../../peers/grant.ts";
import type { Idp } from "../contract.ts";
import { readCreationOptions, unusable } from "../creation-options.ts";
import { type IdpDeps, type IdpKind, maxIdpResponseBytes, readIdpState } from "../kind.ts";
import { isUuid, keysCall } from "../user-check.ts";
import { listMethods, removeMethod } from "./methods.ts";
import { challengeMinutes, type EntraSettings, settings } from "./settings.ts";
import { createAccounts, entraUserCheck } from "./users.ts";
import {
  challengeTimeout,
  creationOptionsResponse,
  displayNameOf,
  errorOf,
  findMethod,
  graphOptions,
  type Method,
  mayBeCredential,
  registrationBody,
  registrationResponse,
  userSegment,
  withAttestationFormat,
} from "./wire.ts";

const idpState = z.lazy(() => z.object({ userId: z.string().min(1) }));

function connect(id: string, configured: EntraSettings, deps: IdpDeps): Idp {
  const access: PeerAccess = { ...deps, peer: idpName(id), errorOf, maxResponseBytes: maxIdpResponseBytes };
  const { peer, now } = access;
  const operate = peerApi(access, tokensOf(access, configured, deps));
  const graph = `${configured["graph-endpoint"]}/${configured["api-version"]}`;
  const isBeta = configured["api-version"] === "beta";
  const timeoutMs = minutes(challengeMinutes(configured));

  const userUrl = (userId: string) => `${graph}/users${userSegment(userId)}`;
  const methodsUrl = (userId: string) => `${userUrl(userId)}/authentication/fido2Methods`;
  /** The methods of the user for whom a credential was requested. */
  const methodsOf = (operation: string, stored: Challenge["idpState"]) => {
    const { userId } = readIdpState(idpState, stored, peer, operation);
    return { peer, graph, userId, url: methodsUrl(userId) };
  };
  const accounts = createAccounts(access, operate, userUrl);

  return {
    id,
    defaultRelyingPartyId: configured["default-relying-party"],
    longerChallengesHint: isBeta
      ? "Raise challenge-timeout-minutes, up to 43200. If it is long enough, Microsoft Graph grants less than it is asked for."
      : "Set api-version to beta: version 1.0 of Microsoft Graph has challenges of 5 minutes only.",
    revocationNeeds:
      "the application permission UserAuthMethod-Passkey.ReadWrite.All or UserAuthenticationMethod.ReadWrite.All",
    checkUser: entraUserCheck(operate, now, { graph, accounts }),

    creationOptions: (request, outer) =>
      operate(outer, async api => {
        // In a query, Graph responds 405 to this parameter.
        const timeout = isBeta ? `(challengeTimeoutInMinutes=${challengeMinutes(configured)})` : "";
        const url = `${methodsUrl(request.userId)}/creationOptions${timeout}`;
        const askedExpiry = new Date(plus(now(), timeoutMs));
        const [response, objectId] = await Promise.all([
          api.get("creation options", url, creationOptionsResponse),
          accounts.objectId(request.userId, api.signal),
        ]);
        const read = { peer, expectedRelyingPartyId: request.relyingPartyId };
        const options = readCreationOptions(graphOptions, response.publicKey, read);
        const expiry = challengeTimeout.safeParse(response.challengeTimeoutDateTime);
        if (!expiry.success) throw unusable(peer, "challengeTimeoutDateTime is not readable");
        return {
          options,
          origin: `https://${options.rp.id}`,
          expiresAt: expiry.data ?? askedExpiry,
          askedExpiry,
          // Registration, read-back and revocation find a user by this id who is renamed meanwhile.
          idpState: { userId: objectId ?? request.userId },
        };
      }),

    activate: (stored, attestation, name, { signal, notAfter }) =>
      operate(signal, async api => {
        const operation = "registration";
        const { url } = methodsOf(operation, stored);
        const body = registrationBody(attestation, displayNameOf(name));
        const { id: methodId } = await api
          .send({ operation, method: "POST", url, body, notAfter, response: registrationResponse })
          .catch(withAttestationFormat(attestation.attestationObject));
        // The response is that of another call: only the list of keys shows whether this credential is registered.
        if (!mayBeCredential(methodId, attestation.credentialId)) {
          const detail = "The response has the id of another credential.";
          throw new PeerFailure(peer, operation, "unanswered", { detail });
        }
        return isUuid(methodId) ? methodId : undefined;
      }),

    isRegistered: (stored, query, outer) =>
      operate(outer, async api => {
        const isEnough = (methods: readonly Method[]) => findMethod(methods, query) === true;
        const read = listMethods(api, keysCall, methodsOf(keysCall, stored), isEnough);
        return findMethod((await read.catch(undefinedIfGone)) ?? [], query);
      }),

    revoke: (stored, credential, outer) =>
      operate(outer, async api => removeMethod(api, methodsOf(keysCall, stored), credential)),

    compensate: async () => {},
  };
}

function tokensOf(
  access: PeerAccess,
  configured: EntraSettings,
  { secret, managedIdentityToken }: IdpDeps,
): AccessTokens {
  const scope = `${configured["graph-endpoint"]}/.default`;
  if (configured["managed-identity"]) {
    return createAccessTokens(access, async () => ({ token: await managedIdentityToken(scope), expiresInSeconds: 0 }));
  }
  const { "tenant-id": tenantId = "", "client-id": clientId = "" } = configured;
  const tokenUrl = `${configured["online-endpoint"]}/${tenantId}/oauth2/v2.0/token`;
  return createAccessTokens(access, () => grantByClientCredentials(access, { tokenUrl, clientId, scope, secret }));
}

export const entra = {
  type: "entra",
  letter: "B",
  settings,
  complete: configured => ({ ...configured, "challenge-timeout-minutes": challengeMinutes(configured) }),
  statusKeys: [
    "type",
    "client-id",
    "api-version",
    "challenge-timeout-minutes",
    "tenant-id",
    "graph-endpoint",
    "online-endpoint",
  ],
  statusKeysV1: ["client-id", "api-version", "challenge-timeout-minutes"],
  statusNumbers: ["challenge-timeout-minutes"],
  vendorHosts: [
    "login.microsoftonline.com",
    "graph.microsoft.com",
    "login.microsoftonline.us",
    "graph.microsoft.us",
    "dod-graph.microsoft.us",
    "login.partner.microsoftonline.cn",
    "login.chinacloudapi.cn",
    "microsoftgraph.chinacloudapi.cn",
  ],
  // The platform issues the token of a managed identity.
  secretAddresses: configured =>
    configured["managed-identity"] ? ["graph-endpoint"] : ["graph-endpoint", "online-endpoint"],
  connect,
} satisfies IdpKind<EntraSettings>;
