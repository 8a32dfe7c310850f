import * as z from "zod";
import { type AccountsState, createAccounts, folded } from "../idp/accounts.ts";
import { type IdpControls, idpControlRoutes } from "../idp/control.ts";
import type { IdpClient } from "../idp/tokens.ts";
import { type Peer, startPeer } from "../peer.ts";
import { openState } from "../state-file.ts";
import { asGraph } from "./errors.ts";
import { createFidoMethods, type FidoMethodsState, METHOD_IDS, type MethodIds } from "./methods.ts";
import { type PolicySettings, policySettings } from "./policy.ts";
import { graphRoutes } from "./routes.ts";
import { createEntraTokens } from "./tokens.ts";
import { createEntraUsers } from "./users.ts";

const settings = z.strictObject({
  /** Lifetime of new access tokens in seconds. */
  expiresIn: z.int().nonnegative().optional(),
  /** The ids with which keys are listed. */
  methodIds: z.enum(METHOD_IDS).optional(),
  /** The longest challenge that the tenant grants in the beta, in minutes. */
  grantedMinutes: z.int().min(5).max(43_200).optional(),
  /** Whether the application may read users (User.Read.All). */
  readsUsers: z.boolean().optional(),
  /** Whether the application may read policies (Policy.Read.AuthenticationMethod). */
  readsPolicies: z.boolean().optional(),
  /** Members of the passkey policy that differ from an open one. */
  policy: policySettings.optional(),
});

/** A tenant of Entra ID: its token endpoint and Graph, both under `url`. */
export interface Entra extends Peer, IdpControls<z.input<typeof settings>> {}

export interface EntraOptions extends IdpClient {
  readonly tenantId: string;
  readonly port?: number | undefined;
  readonly statePath?: string | undefined;
  /** PEM of the only key maker that this tenant trusts. */
  readonly attestationRoot: string;
}

interface EntraState extends FidoMethodsState, AccountsState {
  readonly tokens: Record<string, number>;
}

/** Starts an Entra ID that registers keys of users on their behalf and enforces attestation. */
export async function startEntra(options: EntraOptions): Promise<Entra> {
  const file = openState<EntraState>(options.statePath, { tokens: {}, accounts: [], challenges: {}, methods: [] });
  let expiresIn = 3600;
  let methodIds: MethodIds = "credential";
  let grantedMinutes = 43_200;
  let rights = { readsUsers: true, readsPolicies: true };
  let policy: PolicySettings = {};
  const tokens = createEntraTokens(options, file, () => expiresIn);
  const accounts = createAccounts(file);
  const users = createEntraUsers(accounts);
  const methods = createFidoMethods(file, options.attestationRoot, { ids: () => methodIds, policy: () => policy });
  const controls: IdpControls<z.input<typeof settings>> = {
    registrations: of =>
      file.value.methods
        .filter(({ userId }) => of === undefined || folded(userId) === folded(of))
        .map(({ userId, credentialId, displayName }) => ({ userId, credentialId, displayName })),
    expireChallenges: methods.expireChallenges,
    revokeTokens: tokens.revokeAll,
    settings: changed => {
      expiresIn = changed.expiresIn ?? expiresIn;
      methodIds = changed.methodIds ?? methodIds;
      grantedMinutes = changed.grantedMinutes ?? grantedMinutes;
      rights = {
        readsUsers: changed.readsUsers ?? rights.readsUsers,
        readsPolicies: changed.readsPolicies ?? rights.readsPolicies,
      };
      policy = changed.policy ?? policy;
    },
    setUser: accounts.set,
  };
  const peer = await startPeer("entra", {
    port: options.port,
    handle: call => {
      const [, tenantId] = call.path.match(/^\/([^/]+)\/oauth2\/v2\.0\/token$/) ?? [];
      if (tenantId === options.tenantId && call.method === "POST") return tokens.grant(call);
      const clientRequestId = call.headers["client-request-id"];
      return asGraph(typeof clientRequestId === "string" ? clientRequestId : undefined, () =>
        graphRoutes({ tokens, users, methods, grantedMinutes, rights, policy }, call),
      );
    },
    control: call => idpControlRoutes(controls, settings, call),
  });
  return { ...peer, ...controls };
}
