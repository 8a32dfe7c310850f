import { type IdpOptions, startIdp } from "../idp/idp.ts";
import { idOfUser } from "../uuid-of.ts";
import { createPingOneDevices, type PingOneDevicesState } from "./devices.ts";
import { pingOneRoutes } from "./routes.ts";
import { initial, type PingOneSettings, settings } from "./settings.ts";
import { pingTokens } from "./tokens.ts";

export interface PingOneOptions extends IdpOptions {
  readonly environmentId: string;
}

interface PingOneState extends PingOneDevicesState {
  /** By id: all users that were looked up by name. */
  readonly names: Record<string, string>;
}

/** An environment of PingOne: its token endpoint and its API. */
export type PingOne = Awaited<ReturnType<typeof startPingOne>>;

/** Starts a PingOne that pairs keys with users on their behalf and enforces attestation. */
export const startPingOne = (options: PingOneOptions) =>
  startIdp<PingOneState, PingOneSettings>(options, {
    name: "pingone",
    empty: { names: {}, devices: [] },
    settings: initial,
    changes: settings.partial(),
    tokenPath: `/${options.environmentId}/as/token`,
    tokenRules: pingTokens,
    open: ({ file, tokens, accounts, chosen }) => {
      const { names } = file.value;
      const devices = createPingOneDevices(file, options.attestationRoot, chosen);
      /** Returns the user with an id. The name of a user that was never looked up by name is the id. */
      const withId = (id: string) => ({ id, name: names[id] ?? id });
      /** Returns the user of a name, and gives it an id. */
      const named = (name: string) => {
        const id = idOfUser(name);
        names[id] ??= name;
        file.save();
        return withId(id);
      };
      const environment = { id: options.environmentId, tokens, accounts, devices, chosen, named, withId };
      return {
        registrations: () =>
          devices.active().map(({ userId, ...registered }) => ({ userId: withId(userId).name, ...registered })),
        expireChallenges: devices.expireChallenges,
        handle: call => pingOneRoutes(environment, call),
      };
    },
  });
