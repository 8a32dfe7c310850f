import { type Peer, startPeer } from "../peer.ts";
import { openState } from "../state-file.ts";
import { type EntraControls, entraControlRoutes } from "./control.ts";
import { asGraph } from "./errors.ts";
import { createFidoMethods, type FidoMethodsState, type MethodIds } from "./methods.ts";
import { graphRoutes } from "./routes.ts";
import { createEntraTokens, type EntraClient } from "./tokens.ts";
import { type AccountStatus, createEntraUsers } from "./users.ts";

/** A tenant of Entra ID: its token endpoint and Graph, both under `url`. */
export interface Entra extends Peer, EntraControls {}

export interface EntraOptions extends EntraClient {
  readonly port?: number | undefined;
  readonly statePath?: string | undefined;
  /** PEM of the only key maker that this tenant trusts. */
  readonly attestationRoot: string;
}

interface EntraState extends FidoMethodsState {
  readonly tokens: Record<string, number>;
  readonly users: [userId: string, accountStatus: AccountStatus][];
}

/** Starts an Entra ID that registers keys of users on their behalf and enforces attestation. */
export async function startEntra(options: EntraOptions): Promise<Entra> {
  const file = openState<EntraState>(options.statePath, { tokens: {}, users: [], challenges: {}, methods: [] });
  let expiresIn = 3600;
  let methodIds: MethodIds = "credential";
  const tokens = createEntraTokens(options, file, () => expiresIn);
  const users = createEntraUsers(file);
  const methods = createFidoMethods(file, options.attestationRoot, () => methodIds);
  const controls: EntraControls = {
    registrations: () =>
      file.value.methods.map(({ userId, credentialId, displayName }) => ({ userId, credentialId, displayName })),
    expireChallenges: methods.expireChallenges,
    revokeTokens: tokens.revokeAll,
    settings: changed => {
      expiresIn = changed.expiresIn ?? expiresIn;
      methodIds = changed.methodIds ?? methodIds;
    },
    setUser: users.set,
  };
  const peer = await startPeer("entra", {
    port: options.port,
    handle: call => {
      const [, tenantId] = call.path.match(/^\/([^/]+)\/oauth2\/v2\.0\/token$/) ?? [];
      if (tenantId !== undefined && call.method === "POST")
        return tokens.grant(tenantId, new URLSearchParams(call.body.toString("utf8")), call.url.href);
      const clientRequestId = call.headers["client-request-id"];
      return asGraph(typeof clientRequestId === "string" ? clientRequestId : undefined, () =>
        graphRoutes({ tokens, users, methods }, call),
      );
    },
    control: call => entraControlRoutes(controls, call),
  });
  return { ...peer, ...controls };
}
