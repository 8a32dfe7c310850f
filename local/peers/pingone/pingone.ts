import { type IdpOptions, startIdp } from "../idp/idp.ts";
import { createPingOneDevices, type PingOneDevicesState } from "./devices.ts";
import { pingOneRoutes } from "./routes.ts";
import { initial, type PingOneSettings, settings } from "./settings.ts";
import { pingTokens } from "./tokens.ts";

export interface PingOneOptions extends IdpOptions {
  readonly environmentId: string;
}

/** An environment of PingOne: its token endpoint and its API. */
export type PingOne = Awaited<ReturnType<typeof startPingOne>>;

/** Starts a PingOne that pairs keys with users on their behalf and enforces attestation. */
export const startPingOne = (options: PingOneOptions) =>
  startIdp<PingOneDevicesState, PingOneSettings>(options, {
    name: "pingone",
    empty: { devices: [] },
    settings: initial,
    changes: settings.partial(),
    tokenPath: `/${options.environmentId}/as/token`,
    tokenRules: pingTokens,
    open: ({ file, tokens, accounts, chosen }) => {
      const devices = createPingOneDevices(file, options.attestationRoot, chosen);
      const environment = { id: options.environmentId, tokens, accounts, devices, chosen };
      return {
        registrations: () =>
          devices
            .active()
            .map(({ userId, ...registered }) => ({ userId: accounts.withId(userId).name, ...registered })),
        expireChallenges: devices.expireChallenges,
        handle: call => pingOneRoutes(environment, call),
      };
    },
  });
