import * as z from "zod";
import { anyResponse, callPeer, type PeerAccess } from "../../../platform/call-peer.ts";
import { PeerFailure } from "../../../platform/peer-failure.ts";
import { days, plus } from "../../../platform/time.ts";
import { idpName } from "../../model/peer-names.ts";
import type { Challenge, CreationOptions } from "../../model/webauthn.ts";
import type { TokenCall } from "../../peers/access-token.ts";
import type { Idp } from "../contract.ts";
import { readCreationOptions } from "../creation-options.ts";
import { type IdpDeps, type IdpKind, maxIdpResponseBytes } from "../kind.ts";
import { createPingTokens } from "../ping.ts";
import { undefinedIfGone } from "../user-check.ts";
import { type PingOneSettings, settings } from "./settings.ts";
import { createUserLookup, pingOneUserCheck } from "./users.ts";
import {
  activationBody,
  activationType,
  activeDevice,
  asDeviceLeft,
  asNothingCreated,
  device,
  deviceCapAsRefusal,
  deviceList,
  errorOf,
  newDevice,
  newDeviceBody,
  pingOneOptions,
  undefinedIfRefused,
  unwrapped,
} from "./wire.ts";

const idpState = z.object({ userId: z.string().min(1), deviceId: z.string().min(1), origin: z.string().min(1) });
type IdpState = z.output<typeof idpState>;

function connect(id: string, configured: PingOneSettings, deps: IdpDeps): Idp {
  const access: PeerAccess = { ...deps, peer: idpName(id), errorOf, maxResponseBytes: maxIdpResponseBytes };
  const tokens = createPingTokens(access, {
    tokenUrl: `${configured["auth-base-url"]}/${configured["environment-id"]}/as/token`,
    clientId: configured["client-id"],
    secret: deps.secret,
  });
  // Ping's documentation writes the version sometimes into the base address and sometimes into the paths.
  const environment = `${configured["api-base-url"].replace(/\/v1$/, "")}/v1/environments/${configured["environment-id"]}`;
  const users = `${environment}/users`;
  const directory = createUserLookup(access, users);
  const timeoutDays = configured["pre-registration-timeout-days"];

  const devicesOf = (userId: string) => `${users}/${encodeURIComponent(userId)}/devices`;
  const urlOf = ({ userId, deviceId }: IdpState) => `${devicesOf(userId)}/${encodeURIComponent(deviceId)}`;
  const refused = (operation: string, code: string | undefined, detail: string) =>
    new PeerFailure(access.peer, operation, "refused", { code, detail });
  const stateOf = (operation: string, stored: Challenge["idpState"]): IdpState => {
    const { data } = idpState.safeParse(stored);
    if (data === undefined) throw refused(operation, undefined, "No device is known.");
    return data;
  };

  const find = (call: TokenCall, operation: string, of: IdpState) =>
    callPeer(access, { ...call, operation, method: "GET", url: urlOf(of), response: device, mayRepeat: true }).catch(
      undefinedIfGone,
    );
  const remove = (call: TokenCall, of: IdpState, operation = "compensate") =>
    callPeer(access, {
      ...call,
      operation,
      method: "DELETE",
      url: urlOf(of),
      response: z.undefined(),
      status: 204,
      mayRepeat: true,
    }).catch(undefinedIfGone);

  return {
    id,
    defaultRelyingPartyId: configured["default-relying-party"],
    longestChallengeMs: timeoutDays && days(timeoutDays),
    longerChallengesHint: "Raise pre-registration-timeout-days.",
    revocationNeeds: "the role Identity Data Admin",
    checkUser: pingOneUserCheck(access, tokens, { environment, accountOf: directory.read, devicesOf }),

    creationOptions: (request, outer) =>
      tokens.use(outer, async call => {
        const operation = "creation options";
        const userId = await directory.resolve(call, request.userId).catch(asNothingCreated);
        const relyingPartyId = request.relyingPartyId ?? configured["default-relying-party"];
        const askedAt = access.now();
        const url = devicesOf(userId);
        const body = newDeviceBody(relyingPartyId, configured["policy-id"], nicknameOf(request.tag));
        const created = await callPeer(access, {
          ...call,
          operation,
          method: "POST",
          url,
          body,
          response: newDevice,
        }).catch(deviceCapAsRefusal);
        const state: IdpState = { userId, deviceId: created.id, origin: `https://${relyingPartyId}` };
        const given = unwrapped(created.publicKeyCredentialCreationOptions);
        let options: CreationOptions;
        try {
          options = readCreationOptions(pingOneOptions, given, {
            peer: access.peer,
            expectedRelyingPartyId: relyingPartyId,
          });
        } catch (cause) {
          await remove(call, state).catch(asDeviceLeft(cause));
          throw cause;
        }
        return {
          options,
          origin: state.origin,
          ...(timeoutDays !== undefined && { expiresAt: new Date(plus(askedAt, days(timeoutDays))) }),
          idpState: { ...state },
        };
      }),

    activate: (stored, attestation, name, { signal, notAfter }) =>
      tokens.use(signal, async call => {
        const operation = "registration";
        const of = stateOf(operation, stored);
        const body = activationBody(of.origin, attestation);
        const headers = { "content-type": activationType };
        const activation = { ...call, operation, method: "POST", url: urlOf(of), headers, body, notAfter } as const;
        await callPeer(access, { ...activation, response: activeDevice }).catch(deviceCapAsRefusal);
        const url = `${urlOf(of)}/nickname`;
        const naming = { ...call, operation: "name", method: "PUT", url, body: { nickname: name }, notAfter } as const;
        // The security key is registered and also works without its name.
        await callPeer(access, { ...naming, response: anyResponse }).catch(() => {});
        return undefined;
      }),

    // The device was created for this credential only, so it is active if and only if the credential is registered.
    isRegistered: (stored, _query, outer) =>
      tokens.use(outer, async call => {
        const operation = "registered key";
        const found = await find(call, operation, stateOf(operation, stored));
        return found?.status === "ACTIVE";
      }),

    // The device was created for this credential only, so its id identifies the credential.
    revoke: (stored, _credential, outer) =>
      tokens.use(outer, async call => {
        const operation = "revocation";
        await remove(call, stateOf(operation, stored), operation);
      }),

    // A new device has the tag in its nickname, so it is found without its id.
    compensateUnanswered: ({ userId: idOrName, tag }, outer) =>
      tokens.use(outer, async call => {
        const operation = "compensate";
        // A user who cannot be read cannot have got a device either.
        const userId = await directory.resolve(call, idOrName).catch(undefinedIfRefused);
        if (userId === undefined) return;
        const url = devicesOf(userId);
        const list = { ...call, operation, method: "GET", url, response: deviceList, mayRepeat: true } as const;
        const listed = await callPeer(access, list).catch(undefinedIfRefused);
        for (const { id: deviceId, status, nickname } of listed?._embedded?.devices.filter(
          each => each !== undefined,
        ) ?? []) {
          if (status !== "ACTIVATION_REQUIRED" || nickname !== nicknameOf(tag)) continue;
          await remove(call, { userId, deviceId, origin: "" });
        }
      }),

    compensate: async (stored, outer) => {
      const { data: of } = idpState.safeParse(stored);
      // The IdP was of another kind when the request was created, so there is no device here.
      if (of === undefined) return;
      await tokens.use(outer, async call => {
        const found = await find(call, "compensate", of);
        // An activated device belongs to its user.
        if (found?.status === "ACTIVATION_REQUIRED") await remove(call, of);
      });
    },
  };
}

/** Returns the nickname of a device until it is activated. */
const nicknameOf = (tag: string): string => `Pending key ${tag}`;

export const pingone = {
  type: "pingone",
  letter: "A",
  settings,
  statusKeys: [
    "type",
    "environment-id",
    "default-relying-party",
    "auth-base-url",
    "client-id",
    "api-base-url",
    "pre-registration-timeout-days",
  ],
  vendorHosts: ["com", "eu", "ca", "asia", "com.au", "sg"].flatMap(region => [
    `auth.pingone.${region}`,
    `api.pingone.${region}`,
  ]),
  secretAddresses: () => ["api-base-url", "auth-base-url"],
  connect,
} satisfies IdpKind<PingOneSettings>;
