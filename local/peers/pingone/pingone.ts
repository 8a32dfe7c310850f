import * as z from "zod";
import { type AccountsState, createAccounts, folded } from "../idp/accounts.ts";
import { type IdpControls, idpControlRoutes } from "../idp/control.ts";
import type { IdpClient, IdpTokensState } from "../idp/tokens.ts";
import { type Peer, startPeer } from "../peer.ts";
import { openState } from "../state-file.ts";
import { createPingOneDevices, PING_BYTES, type PingBytes, type PingOneDevicesState } from "./devices.ts";
import { asPingOne } from "./errors.ts";
import { pingOneRoutes } from "./routes.ts";
import { createPingTokens } from "./tokens.ts";
import { idOfUser } from "./user-id.ts";

const settings = z.strictObject({
  /** Lifetime of new access tokens in seconds. */
  expiresIn: z.int().nonnegative().optional(),
  maxDevices: z.int().nonnegative().optional(),
  bytes: z.enum(PING_BYTES).optional(),
  policyRequired: z.boolean().optional(),
  /** Whether the application may read the MFA settings. */
  readsSettings: z.boolean().optional(),
});

/** An environment of PingOne: its token endpoint and its API, both under `url`. */
export interface PingOne extends Peer, IdpControls<z.input<typeof settings>> {}

export interface PingOneOptions extends IdpClient {
  readonly port?: number | undefined;
  readonly statePath?: string | undefined;
  readonly environmentId: string;
  /** PEM of the only key maker that this environment trusts. */
  readonly attestationRoot: string;
}

interface PingOneState extends PingOneDevicesState, IdpTokensState, AccountsState {
  /** By id: all users that were looked up by name. */
  readonly names: Record<string, string>;
}

/** Starts a PingOne that pairs keys with users on their behalf and enforces attestation. */
export async function startPingOne(options: PingOneOptions): Promise<PingOne> {
  const empty: PingOneState = { tokens: {}, accounts: [], names: {}, devices: [] };
  const file = openState(options.statePath, empty);
  const { names } = file.value;
  let chosen = {
    expiresIn: 3600,
    maxDevices: 5,
    bytes: "signed" as PingBytes,
    policyRequired: false,
    readsSettings: true,
  };
  const tokens = createPingTokens(options, file, () => chosen.expiresIn);
  const accounts = createAccounts(file);
  const devices = createPingOneDevices(file, options.attestationRoot, () => chosen);
  const withId = (id: string) => ({ id, name: names[id] ?? id });
  const named = (name: string) => {
    const id = idOfUser(name);
    if (names[id] === undefined) {
      names[id] = name;
      file.save();
    }
    return withId(id);
  };
  const controls: IdpControls<z.input<typeof settings>> = {
    registrations: of =>
      devices
        .active()
        .map(({ userId, credentialId, nickname }) => ({
          userId: withId(userId).name,
          credentialId,
          displayName: nickname,
        }))
        .filter(({ userId }) => of === undefined || folded(userId) === folded(of)),
    expireChallenges: devices.expireChallenges,
    revokeTokens: tokens.revokeAll,
    settings: ({ expiresIn, maxDevices, bytes, policyRequired, readsSettings }) => {
      chosen = {
        expiresIn: expiresIn ?? chosen.expiresIn,
        maxDevices: maxDevices ?? chosen.maxDevices,
        bytes: bytes ?? chosen.bytes,
        policyRequired: policyRequired ?? chosen.policyRequired,
        readsSettings: readsSettings ?? chosen.readsSettings,
      };
    },
    setUser: accounts.set,
  };
  const environment = {
    ...{ id: options.environmentId, tokens, accounts, devices, named, withId },
    maxDevices: () => chosen.maxDevices,
    readsSettings: () => chosen.readsSettings,
  };
  const peer = await startPeer("pingone", {
    port: options.port,
    handle: call =>
      call.method === "POST" && call.path === `/${options.environmentId}/as/token`
        ? tokens.grant(call)
        : asPingOne(() => pingOneRoutes(environment, call)),
    control: call => idpControlRoutes(controls, settings, call),
  });
  return { ...peer, ...controls };
}
