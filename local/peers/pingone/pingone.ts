import * as z from "zod";
import { type IdpOptions, startIdp } from "../idp/idp.ts";
import { idOfUser } from "../uuid-of.ts";
import { createPingOneDevices, PING_BYTES, type PingOneDevicesState } from "./devices.ts";
import { pingOneRoutes } from "./routes.ts";
import { pingTokens } from "./tokens.ts";

const settings = z.strictObject({
  /** Lifetime of new access tokens in seconds. */
  expiresIn: z.int().nonnegative(),
  /** Maximum number of devices of a user, including pending ones. */
  maxDevices: z.int().nonnegative(),
  bytes: z.enum(PING_BYTES),
  /** Whether a new device needs a policy, as the documentation says. */
  policyRequired: z.boolean(),
  /** Whether the application may read the MFA settings. */
  readsSettings: z.boolean(),
});

export type PingOneSettings = z.output<typeof settings>;

const initial: PingOneSettings = {
  expiresIn: 3600,
  maxDevices: 5,
  bytes: "signed",
  policyRequired: false,
  readsSettings: true,
};

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
