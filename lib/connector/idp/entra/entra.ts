import * as z from "zod";
import { callPeer, type PeerAccess } from "../../../platform/call-peer.ts";
import { PeerFailure } from "../../../platform/peer-failure.ts";
import { minutes, plus } from "../../../platform/time.ts";
import { idpName } from "../../model/peer-names.ts";
import type { Challenge } from "../../model/webauthn.ts";
import { type AccessTokens, createAccessTokens } from "../../peers/access-token.ts";
import { grantByClientCredentials } from "../../peers/grant.ts";
import type { Idp } from "../contract.ts";
import { readCreationOptions, unusable } from "../creation-options.ts";
import { type IdpDeps, type IdpKind, maxIdpResponseBytes } from "../kind.ts";
import { isUuid, undefinedIfGone } from "../user-check.ts";
import { listMethods, removeMethod } from "./methods.ts";
import { type EntraSettings, settings } from "./settings.ts";
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

const idpState = z.object({ userId: z.string().min(1) });
const nationalGraphs = ["graph.microsoft.us", "dod-graph.microsoft.us", "microsoftgraph.chinacloudapi.cn"];
const globalOnly =
  "api-version must be beta with this graph-endpoint: version 1.0 issues challenges in the global cloud only";

function connect(id: string, configured: EntraSettings, deps: IdpDeps): Idp {
  const access: PeerAccess = { ...deps, peer: idpName(id), errorOf, maxResponseBytes: maxIdpResponseBytes };
  const tokens = tokensOf(access, configured, deps);
  const graph = `${configured["graph-endpoint"]}/${configured["api-version"]}`;
  const isBeta = configured["api-version"] === "beta";
  const timeout = configured["challenge-timeout-minutes"];

  const userUrl = (userId: string) => `${graph}/users${userSegment(userId)}`;
  const methodsOf = (userId: string) => `${userUrl(userId)}/authentication/fido2Methods`;
  const accounts = createAccounts(access, tokens, userUrl);
  const userOf = (operation: string, stored: Challenge["idpState"]) => {
    const { data } = idpState.safeParse(stored);
    if (data !== undefined) return data.userId;
    const detail = "The stored state for the identity provider has no user id.";
    throw new PeerFailure(access.peer, operation, "refused", { detail });
  };

  return {
    id,
    defaultRelyingPartyId: configured["default-relying-party"],
    longestChallengeMs: minutes(timeout),
    longerChallengesHint: isBeta
      ? "Raise challenge-timeout-minutes, up to 43200. If it is long enough, Microsoft Graph grants less than it is asked for."
      : "Set api-version to beta: version 1.0 of Microsoft Graph has challenges of 5 minutes only.",
    revocationNeeds:
      "the application permission UserAuthMethod-Passkey.ReadWrite.All or UserAuthenticationMethod.ReadWrite.All",
    ...(!isBeta && nationalGraphs.includes(new URL(graph).hostname) && { settingProblems: [globalOnly] }),
    // With more, Microsoft warns of slower operations. No limit is documented at which a registration is refused.
    recommendedCredentials: 20,
    checkUser: entraUserCheck(access, tokens, { url: graph, accounts }),

    creationOptions: (request, outer) =>
      tokens.use(outer, async call => {
        const operation = "creation options";
        // In a query, Graph responds 405 to this parameter.
        const timeoutParameter = isBeta ? `(challengeTimeoutInMinutes=${timeout})` : "";
        const url = `${methodsOf(request.userId)}/creationOptions${timeoutParameter}`;
        const askedAt = access.now();
        const get = { ...call, operation, method: "GET", url, mayRepeat: true } as const;
        const [response, objectId] = await Promise.all([
          callPeer(access, { ...get, response: creationOptionsResponse }),
          accounts.objectId(request.userId, call.signal),
        ]);
        const read = { peer: access.peer, expectedRelyingPartyId: request.relyingPartyId };
        const options = readCreationOptions(graphOptions, response.publicKey, read);
        const expiry = challengeTimeout.safeParse(response.challengeTimeoutDateTime);
        if (!expiry.success) throw unusable(access.peer, "challengeTimeoutDateTime is not readable");
        const askedExpiry = new Date(plus(askedAt, minutes(timeout)));
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
      tokens.use(signal, async call => {
        const operation = "registration";
        const url = methodsOf(userOf(operation, stored));
        const body = registrationBody(attestation, displayNameOf(name));
        const registration = { ...call, operation, method: "POST", url, body, notAfter } as const;
        const { id: methodId } = await callPeer(access, { ...registration, response: registrationResponse }).catch(
          withAttestationFormat(attestation.attestationObject),
        );
        // The response is that of another call: only the list of keys shows whether this credential is registered.
        if (!mayBeCredential(methodId, attestation.credentialId)) {
          const detail = "The response has the id of another credential.";
          throw new PeerFailure(access.peer, operation, "unanswered", { detail });
        }
        return isUuid(methodId) ? methodId : undefined;
      }),

    isRegistered: (stored, query, outer) =>
      tokens.use(outer, async call => {
        const operation = "registered keys";
        const isEnough = (methods: readonly Method[]) => findMethod(methods, query) === true;
        const url = methodsOf(userOf(operation, stored));
        const read = listMethods(access, call, { operation, graph, url, isEnough });
        return findMethod(await read.catch(error => undefinedIfGone(error) ?? []), query);
      }),

    revoke: (stored, credential, outer) =>
      tokens.use(outer, async call => {
        const userId = userOf("revocation", stored);
        await removeMethod(access, call, { graph, methodsUrl: methodsOf(userId), userId, credential });
      }),

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
  const client = { tokenUrl, clientId, scope, secret };
  return createAccessTokens(access, () => grantByClientCredentials(access, client));
}

export const entra = {
  type: "entra",
  letter: "B",
  settings,
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
