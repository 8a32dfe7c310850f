import { randomBytes } from "node:crypto";
import { type IdpOptions, startIdp } from "../idp/idp.ts";
import type { HttpCall } from "../peer.ts";
import { pingTokens } from "../pingone/tokens.ts";
import { amRefusal, badRequest, journeyFailure, notFound } from "./errors.ts";
import { type AicJourneyOptions, type AicJourneyState, createAicJourney } from "./journey.ts";
import { type AicSettings, settings } from "./settings.ts";

const DEVICES = /\/users\/([^/]+)\/devices\/2fa\/webauthn(?:\/([^/]+))?$/;

export interface AicOptions extends IdpOptions, AicJourneyOptions {
  /** Duration of a journey: by default 300 s, as in AM. */
  readonly journeySeconds?: number | undefined;
  /** The header from which the journey reads the caller's token. */
  readonly authenticationHeader?: string | undefined;
}

/** A tenant of Advanced Identity Cloud with one journey. */
export type Aic = Awaited<ReturnType<typeof startAic>>;

/** Starts an AM whose journey registers keys of users for a caller with a token, and enforces attestation. */
export function startAic(options: AicOptions) {
  const { realm, journey: name, authenticationHeader = "authorization", journeySeconds = 300 } = options;
  const realmPath = `/am/json/realms/root/realms/${realm}/`;
  return startIdp<AicJourneyState, AicSettings>(options, {
    name: "aic",
    empty: { authKey: randomBytes(32).toString("base64url"), steps: {}, registrations: [] },
    settings: { expiresIn: 3600, form: "metadata", names: "id", maxDevices: 100, journeySeconds },
    changes: settings.partial(),
    tokenPath: `/am/oauth2/realms/root/realms/${realm}/access_token`,
    tokenRules: pingTokens,
    open: ({ file, tokens, accounts, chosen }) => {
      const journey = createAicJourney(options, file, accounts, chosen);

      const authenticate = async (call: HttpCall) => {
        const { method, query, headers, body } = call;
        if (method !== "POST") throw amRefusal(405, "Method Not Allowed", "Only POST is supported.");
        if (!/^resource=2\.\d, ?protocol=1\.0$/.test(String(headers["accept-api-version"])))
          throw amRefusal(403, "Forbidden", "The request has no version of the API.");
        if (query.get("authIndexType") !== "service" || query.get("authIndexValue") !== name)
          throw badRequest("Journey is not found.");
        const session = query.get("noSession") === "true" ? {} : { tokenId: randomBytes(32).toString("base64url") };
        if (body.length === 0) {
          if (!tokens.accepts(call, authenticationHeader.toLowerCase())) throw journeyFailure();
          return { status: 200, body: await journey.begin() };
        }
        const next = await journey.goOn(body);
        return { status: 200, body: "authId" in next ? next : { ...session, ...next } };
      };

      /** The devices of a user, for a client that may administer them. */
      const devices = (call: HttpCall, userId: string, uuid: string | undefined) => {
        if (!tokens.accepts(call)) throw amRefusal(401, "Unauthorized", "Access Denied");
        if (uuid !== undefined && call.method === "DELETE") return { status: 200, body: journey.remove(userId, uuid) };
        if (uuid !== undefined || call.method !== "GET" || call.query.get("_queryFilter") !== "true")
          throw badRequest("The operation is not supported.");
        const result = journey.devicesOf(userId);
        return { status: 200, body: { result, resultCount: result.length, pagedResultsCookie: null } };
      };

      return {
        registrations: () =>
          file.value.registrations.map(({ userId, ...rest }) => ({ ...rest, userId: accounts.withId(userId).name })),
        expireChallenges: journey.expire,
        handle: call => {
          if (!call.path.startsWith("/am/")) return undefined;
          if (!call.path.startsWith(realmPath)) throw notFound();
          const [, userId, uuid] = DEVICES.exec(call.path) ?? [];
          if (userId !== undefined) return devices(call, userId, uuid);
          return call.path === `${realmPath}authenticate` ? authenticate(call) : undefined;
        },
      };
    },
  });
}
