import { randomBytes } from "node:crypto";
import * as z from "zod";
import { type AccountsState, createAccounts } from "../idp/accounts.ts";
import { type IdpControls, idpControlRoutes } from "../idp/control.ts";
import type { IdpClient, IdpTokensState } from "../idp/tokens.ts";
import { type HttpCall, type Peer, startPeer } from "../peer.ts";
import { createPingTokens } from "../pingone/tokens.ts";
import { openState } from "../state-file.ts";
import { AIC_FORMS } from "./callbacks.ts";
import { AmError, asAm, badRequest, journeyFailure } from "./errors.ts";
import { type AicBehaviour, type AicJourneyOptions, type AicJourneyState, createAicJourney } from "./journey.ts";

const DEVICES = /\/users\/([^/]+)\/devices\/2fa\/webauthn(?:\/([^/]+))?$/;

const settings = z.strictObject({
  /** Lifetime of new access tokens in seconds. */
  expiresIn: z.int().nonnegative().optional(),
  form: z.enum(AIC_FORMS).optional(),
  maxDevices: z.int().nonnegative().optional(),
  journeySeconds: z.int().positive().optional(),
});

/** A tenant of Advanced Identity Cloud with one journey, under `url`. */
export interface Aic extends Peer, IdpControls<z.input<typeof settings>> {}

export interface AicOptions extends IdpClient, AicJourneyOptions {
  readonly port?: number | undefined;
  readonly statePath?: string | undefined;
  /** Duration of a journey: by default 300 s, as in AM. */
  readonly journeySeconds?: number | undefined;
  /** The header from which the journey reads the caller's token. */
  readonly authenticationHeader?: string | undefined;
}

type AicState = AicJourneyState & IdpTokensState & AccountsState;

/** Starts an AM whose journey registers keys of users for a caller with a token, and enforces attestation. */
export async function startAic(options: AicOptions): Promise<Aic> {
  const { realm, journey: name, authenticationHeader = "authorization" } = options;
  const empty: AicState = { tokens: {}, accounts: [], authKey: "", steps: {}, registrations: [] };
  const file = openState(options.statePath, empty);
  file.value.authKey ||= randomBytes(32).toString("base64url");
  let expiresIn = 3600;
  let behaviour: AicBehaviour = { form: "metadata", maxDevices: 100, journeySeconds: options.journeySeconds ?? 300 };
  const tokens = createPingTokens(options, file, () => expiresIn);
  const accounts = createAccounts(file);
  const journey = createAicJourney(options, file, accounts, () => behaviour);
  const controls: IdpControls<z.input<typeof settings>> = {
    registrations: userId => [...(userId === undefined ? file.value.registrations : journey.of(userId))],
    expireChallenges: journey.expire,
    revokeTokens: tokens.revokeAll,
    settings: changed => {
      expiresIn = changed.expiresIn ?? expiresIn;
      behaviour = {
        form: changed.form ?? behaviour.form,
        maxDevices: changed.maxDevices ?? behaviour.maxDevices,
        journeySeconds: changed.journeySeconds ?? behaviour.journeySeconds,
      };
    },
    setUser: accounts.set,
  };

  const authenticate = async ({ method, query, headers, body }: HttpCall) => {
    if (method !== "POST") throw new AmError(405, "Method Not Allowed", "Only POST is supported.");
    if (!/^resource=2\.\d, ?protocol=1\.0$/.test(String(headers["accept-api-version"])))
      throw new AmError(403, "Forbidden", "The request has no version of the API.");
    if (query.get("authIndexType") !== "service" || query.get("authIndexValue") !== name)
      throw badRequest("Journey is not found.");
    const session = query.get("noSession") === "true" ? {} : { tokenId: randomBytes(32).toString("base64url") };
    if (body.length === 0) {
      const token = String(headers[authenticationHeader.toLowerCase()]).replace(/^Bearer /, "");
      if (!tokens.isValid(token)) throw journeyFailure();
      return { status: 200, body: await journey.begin() };
    }
    const next = await journey.goOn(body);
    return { status: 200, body: "authId" in next ? next : { ...session, ...next } };
  };

  /** The devices of a user, for a client that may administer them. */
  const devices = ({ method, query, headers }: HttpCall, userId: string, uuid: string | undefined) => {
    if (!tokens.isValid(String(headers.authorization).replace(/^Bearer /, "")))
      throw new AmError(401, "Unauthorized", "Access Denied");
    if (uuid !== undefined && method === "DELETE") return { status: 200, body: journey.remove(userId, uuid) };
    if (uuid !== undefined || method !== "GET" || query.get("_queryFilter") !== "true")
      throw badRequest("The operation is not supported.");
    const result = journey.devicesOf(userId);
    return { status: 200, body: { result, resultCount: result.length, pagedResultsCookie: null } };
  };

  const peer = await startPeer("aic", {
    port: options.port,
    handle: call => {
      if (call.method === "POST" && call.path === `/am/oauth2/realms/root/realms/${realm}/access_token`)
        return tokens.grant(call);
      const [, userId, uuid] = DEVICES.exec(call.path) ?? [];
      if (userId !== undefined && call.path.startsWith(`/am/json/realms/root/realms/${realm}/`))
        return asAm(async () => devices(call, userId, uuid));
      if (call.path !== `/am/json/realms/root/realms/${realm}/authenticate`) return undefined;
      return asAm(() => authenticate(call));
    },
    control: call => idpControlRoutes(controls, settings, call),
  });
  return { ...peer, ...controls };
}
