import * as z from "zod";
import { anyResponse, type PeerAccess } from "../../../platform/call-peer.ts";
import { days, type Instant, plus } from "../../../platform/time.ts";
import { idpName } from "../../model/peer-names.ts";
import type { Challenge, CreationOptions } from "../../model/webauthn.ts";
import { type PeerApi, peerApi, undefinedIfGone } from "../../peers/access-token.ts";
import { type Idp, removalCall } from "../contract.ts";
import { readCreationOptions } from "../creation-options.ts";
import { type IdpDeps, type IdpKind, maxIdpResponseBytes, readIdpState } from "../kind.ts";
import { createPingTokens } from "../ping.ts";
import { type PingOneSettings, settings } from "./settings.ts";
import { pingOneUserCheck, userIdOf } from "./users.ts";
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

const idpState = z.lazy(() =>
  z.object({ userId: z.string().min(1), deviceId: z.string().min(1), origin: z.string().min(1) }),
);
type Device = Pick<z.output<typeof idpState>, "userId" | "deviceId">;

function connect(id: string, configured: PingOneSettings, deps: IdpDeps): Idp {
  const access: PeerAccess = { ...deps, peer: idpName(id), errorOf, maxResponseBytes: maxIdpResponseBytes };
  const { peer, now } = access;
  const tokens = createPingTokens(access, {
    tokenUrl: `${configured["auth-base-url"]}/${configured["environment-id"]}/as/token`,
    clientId: configured["client-id"],
    secret: deps.secret,
  });
  const operate = peerApi(access, tokens);
  // Ping's documentation writes the version sometimes into the base address and sometimes into the paths.
  const environment = `${configured["api-base-url"].replace(/\/v1$/, "")}/v1/environments/${configured["environment-id"]}`;
  const users = `${environment}/users`;
  const timeoutDays = configured["pre-registration-timeout-days"];

  const devicesOf = (userId: string) => `${users}/${encodeURIComponent(userId)}/devices`;
  const urlOf = ({ userId, deviceId }: Device) => `${devicesOf(userId)}/${encodeURIComponent(deviceId)}`;
  const stateOf = (operation: string, stored: Challenge["idpState"]) => readIdpState(idpState, stored, peer, operation);

  return {
    id,
    defaultRelyingPartyId: configured["default-relying-party"],
    longerChallengesHint: "Raise pre-registration-timeout-days.",
    revocationNeeds: "the role Identity Data Admin",
    checkUser: pingOneUserCheck(operate, peer, { environment, users, devicesOf }),

    creationOptions: (request, outer) =>
      operate(outer, async api => {
        const userId = await userIdOf(api, peer, users, request.userId).catch(asNothingCreated);
        const relyingPartyId = request.relyingPartyId ?? configured["default-relying-party"];
        const askedAt = now();
        const created = await api
          .send({
            operation: "creation options",
            method: "POST",
            url: devicesOf(userId),
            body: newDeviceBody(relyingPartyId, configured["policy-id"], nicknameOf(request.tag)),
            response: newDevice,
          })
          .catch(deviceCapAsRefusal);
        const state = { userId, deviceId: created.id, origin: `https://${relyingPartyId}` };
        const given = unwrapped(created.publicKeyCredentialCreationOptions);
        let options: CreationOptions;
        try {
          options = readCreationOptions(pingOneOptions, given, { peer, expectedRelyingPartyId: relyingPartyId });
        } catch (cause) {
          await api.remove("compensate", urlOf(state)).catch(asDeviceLeft(cause));
          throw cause;
        }
        return {
          options,
          origin: state.origin,
          ...(timeoutDays !== undefined && { expiresAt: new Date(plus(askedAt, days(timeoutDays))) }),
          idpState: state,
        };
      }),

    activate: (stored, attestation, name, { signal, notAfter }) =>
      operate(signal, async api => {
        const operation = "registration";
        const of = stateOf(operation, stored);
        const url = urlOf(of);
        const body = activationBody(of.origin, attestation);
        const headers = { "content-type": activationType };
        await api
          .send({ operation, method: "POST", url, headers, body, notAfter, response: activeDevice })
          .catch(deviceCapAsRefusal);
        await nameDevice(api, url, name, notAfter);
        return undefined;
      }),

    // The device was created for this credential only, so it is active if and only if the credential is registered.
    isRegistered: (stored, { name }, outer) =>
      operate(outer, async api => {
        const operation = "registered key";
        const url = urlOf(stateOf(operation, stored));
        const found = await api.get(operation, url, device).catch(undefinedIfGone);
        if (found?.status !== "ACTIVE") return false;
        if (name !== undefined) await nameDevice(api, url, name);
        return true;
      }),

    // The device was created for this credential only, so its id identifies the credential.
    revoke: (stored, _credential, outer) =>
      operate(outer, async api => {
        await api.remove(removalCall, urlOf(stateOf(removalCall, stored)));
      }),

    // A new device has the tag in its nickname, so it is found without its id.
    compensateUnanswered: ({ userId: idOrName, tag }, outer) =>
      operate(outer, async api => {
        const operation = "compensate";
        // A user who cannot be read cannot have got a device either.
        const userId = await userIdOf(api, peer, users, idOrName).catch(undefinedIfRefused);
        if (userId === undefined) return;
        const listed = await api.get(operation, devicesOf(userId), deviceList).catch(undefinedIfRefused);
        for (const found of listed ?? [])
          if (found?.status === "ACTIVATION_REQUIRED" && found.nickname === nicknameOf(tag))
            await api.remove(operation, urlOf({ userId, deviceId: found.id }));
      }),

    compensate: async (stored, outer) => {
      const { data: of } = idpState.safeParse(stored);
      // The IdP was of another kind when the request was created, so there is no device here.
      if (of === undefined) return;
      await operate(outer, async api => {
        const found = await api.get("compensate", urlOf(of), device).catch(undefinedIfGone);
        // An activated device belongs to its user.
        if (found?.status === "ACTIVATION_REQUIRED") await api.remove("compensate", urlOf(of));
      });
    },
  };
}

/** Gives an active device the name that its user knows. A failure is ignored: the security key works without it. */
async function nameDevice(api: PeerApi, url: string, nickname: string, notAfter?: Instant): Promise<void> {
  const naming = { method: "PUT", url: `${url}/nickname`, body: { nickname }, notAfter } as const;
  await api.send({ operation: "name", ...naming, response: anyResponse }).catch(() => {});
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
  statusNumbers: ["pre-registration-timeout-days"],
  vendorHosts: ["com", "eu", "ca", "asia", "com.au", "sg"].flatMap(region => [
    `auth.pingone.${region}`,
    `api.pingone.${region}`,
  ]),
  secretAddresses: () => ["api-base-url", "auth-base-url"],
  connect,
} satisfies IdpKind<PingOneSettings>;
