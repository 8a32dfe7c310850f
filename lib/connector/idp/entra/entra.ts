import * as z from "zod";
import { PeerFailure } from "../../../peer-failure.ts";
import { minutes, plus } from "../../../time.ts";
import { type AccessTokens, createAccessTokens } from "../../http/access-token.ts";
import { callPeer, type PeerAccess, withTimeout } from "../../http/call.ts";
import { grantByClientCredentials } from "../../http/grant.ts";
import { readPeer } from "../../http/retry.ts";
import type { Challenge } from "../../model/webauthn.ts";
import type { Idp } from "../contract.ts";
import { domain, endpointUrl, type IdpDeps, type IdpKind, longestIdpAnswer, wholeNumber } from "../kind.ts";
import {
  creationOptionsAnswer,
  displayNameOf,
  isAmong,
  type Method,
  methodList,
  refusalOf,
  registrationAnswer,
  registrationBody,
} from "./wire.ts";

const flag = z.union([z.boolean(), z.enum(["true", "false"]).transform(text => text === "true")], {
  error: "must be true or false",
});

/**
 * Kind B of the specification's table; all but the two ids have defaults, and with a managed identity these are not needed either
 * (decisions C13, C17).
 */
const settings = z
  .strictObject({
    type: z.literal("entra"),
    "tenant-id": z
      .string()
      .regex(/^[A-Za-z0-9.-]+$/, "must be a tenant id or a domain")
      .optional(),
    "client-id": z
      .string()
      .regex(/^[A-Za-z0-9-]+$/, "must be an application id")
      .optional(),
    "graph-endpoint": endpointUrl.default("https://graph.microsoft.com"),
    "online-endpoint": endpointUrl.default("https://login.microsoftonline.com"),
    "api-version": z.enum(["beta", "v1.0"], { error: "must be one of beta, v1.0" }).default("beta"),
    "challenge-timeout-minutes": wholeNumber(5, 43_200).optional(),
    /** The relying party of passkeys in Entra's global cloud, as its creation options name it. */
    "default-relying-party": domain.default("login.microsoft.com"),
    /** The app's own identity takes the place of client and secret. */
    "managed-identity": flag.optional(),
  })
  .superRefine((told, context) => {
    for (const name of ["tenant-id", "client-id"] as const)
      if (told[name] === undefined && told["managed-identity"] !== true)
        context.addIssue({ code: "custom", path: [name], message: "must be set" });
  })
  .transform(told => ({
    ...told,
    "challenge-timeout-minutes": told["challenge-timeout-minutes"] ?? (told["api-version"] === "v1.0" ? 5 : 20_160),
  }))
  .refine(told => told["api-version"] === "beta" || told["challenge-timeout-minutes"] === 5, {
    path: ["challenge-timeout-minutes"],
    error: "must be 5 with api-version v1.0, which knows no other",
  });

export type EntraSettings = z.output<typeof settings>;

const idpState = z.object({ userId: z.string().min(1) });
const mostPages = 10;

function connect(id: string, told: EntraSettings, deps: IdpDeps): Idp {
  const access: PeerAccess = { ...deps, peer: `IdP ${id}`, refusalOf, longestAnswer: longestIdpAnswer };
  const tokens = tokensOf(access, told, deps);
  const graph = `${told["graph-endpoint"]}/${told["api-version"]}`;
  const timeout = told["challenge-timeout-minutes"];

  const methodsOf = (userId: string) => `${graph}/users${userSegment(userId)}/authentication/fido2Methods`;
  /** One operation with its token and within its time. */
  const operate = <T>(outer: AbortSignal, work: (call: { token: string; signal: AbortSignal }) => Promise<T>) =>
    withTimeout(deps.timeLimitMs, outer, signal => tokens.use(signal, token => work({ token, signal })));
  const userOf = (operation: string, stored: Challenge["idpState"]) => {
    const { data } = idpState.safeParse(stored);
    if (data === undefined) throw new PeerFailure(access.peer, operation, "refused", { detail: "No user is known." });
    return data.userId;
  };

  return {
    id,
    defaultRelyingPartyId: told["default-relying-party"],

    creationOptions: (wanted, outer) =>
      operate(outer, async call => {
        const operation = "creation options";
        // Graph answers 405 to the same parameter in a query.
        const named = told["api-version"] === "beta" ? `(challengeTimeoutInMinutes=${timeout})` : "";
        const url = `${methodsOf(wanted.userId)}/creationOptions${named}`;
        const asked = access.now();
        const answer = await readPeer(access, {
          ...call,
          operation,
          method: "GET",
          url,
          answer: creationOptionsAnswer,
        });
        const { rp } = answer.publicKey;
        if (wanted.relyingPartyId !== undefined && wanted.relyingPartyId !== rp.id) {
          const detail = `The relying party of this IdP is ${rp.id}: default-relying-party in its configuration is another.`;
          throw new PeerFailure(access.peer, operation, "refused", { code: "relying_party", detail });
        }
        return {
          options: answer.publicKey,
          origin: `https://${rp.id}`,
          expiresAt: new Date(answer.challengeTimeoutDateTime ?? plus(asked, minutes(timeout))),
          idpState: { userId: wanted.userId },
        };
      }),

    activate: (stored, attestation, name, { signal, notAfter }) =>
      operate(signal, async call => {
        const operation = "registration";
        const url = methodsOf(userOf(operation, stored));
        const body = registrationBody(attestation, displayNameOf(name));
        await callPeer(access, { ...call, operation, method: "POST", url, body, notAfter, answer: registrationAnswer });
      }),

    isRegistered: (stored, sought, outer) =>
      operate(outer, async call => {
        const operation = "registered keys";
        const methods: Method[] = [];
        let url = methodsOf(userOf(operation, stored));
        for (let page = 0; page < mostPages; page++) {
          const list = { ...call, operation, method: "GET", url, answer: methodList } as const;
          const answer = await readPeer(access, list).catch(noneWithoutUser);
          methods.push(...answer.value);
          const next = answer["@odata.nextLink"];
          const found = isAmong(methods, sought);
          if (next === undefined || found === "by id") return typeof found === "string" ? true : found;
          // The token goes to Graph alone.
          if (!next.startsWith(`${graph}/`)) break;
          url = next;
        }
        throw new PeerFailure(access.peer, operation, "unanswered", {
          detail: "The list of keys has no readable end.",
        });
      }),

    compensate: async () => {},
  };
}

function tokensOf(access: PeerAccess, told: EntraSettings, { secret, managedIdentityToken }: IdpDeps): AccessTokens {
  const scope = `${told["graph-endpoint"]}/.default`;
  if (managedIdentityToken !== undefined) {
    return createAccessTokens(access, async () => ({ token: await managedIdentityToken(scope), expiresInSeconds: 0 }));
  }
  const { "tenant-id": tenantId = "", "client-id": clientId = "" } = told;
  const tokenUrl = `${told["online-endpoint"]}/${tenantId}/oauth2/v2.0/token`;
  const client = { tokenUrl, clientId, scope, secret };
  return createAccessTokens(access, () => grantByClientCredentials(access, client));
}

/** Who is gone has no keys; an address that is not Graph's says so without Graph's error code. */
function noneWithoutUser(error: unknown): z.output<typeof methodList> {
  if (error instanceof PeerFailure && error.kind === "missing" && error.code !== undefined) return { value: [] };
  throw error;
}

/**
 * A user by object id or user principal name. Graph wants names that begin with `$` in the quoted form; `.` and `..` need it
 * too, or they would be resolved as steps of the path.
 */
function userSegment(userId: string): string {
  const encoded = encodeURIComponent(userId.toWellFormed());
  return /^[$.]/.test(userId) ? `('${encoded.replaceAll("'", "''")}')` : `/${encoded}`;
}

export const entra = { settings, connect } satisfies IdpKind<EntraSettings>;
