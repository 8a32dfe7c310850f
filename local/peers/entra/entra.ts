import * as z from "zod";
import { type IdpOptions, startIdp } from "../idp/idp.ts";
import { asGraph } from "./errors.ts";
import { createFidoMethods, type FidoMethodsState, METHOD_IDS } from "./methods.ts";
import { policySettings } from "./policy.ts";
import { graphRoutes } from "./routes.ts";
import { entraTokens } from "./tokens.ts";

const settings = z.strictObject({
  /** Lifetime of new access tokens in seconds. */
  expiresIn: z.int().nonnegative(),
  /** The ids with which keys are listed. */
  methodIds: z.enum(METHOD_IDS),
  /** The longest challenge that the tenant grants in the beta, in minutes. */
  grantedMinutes: z.int().min(5).max(43_200),
  /** Whether the application may read users (User.Read.All). */
  readsUsers: z.boolean(),
  /** Whether the application may read policies (Policy.Read.AuthenticationMethod). */
  readsPolicies: z.boolean(),
  /** Members of the passkey policy that differ from an open one. */
  policy: policySettings,
});

export type EntraSettings = z.output<typeof settings>;

const initial: EntraSettings = {
  expiresIn: 3600,
  methodIds: "credential",
  grantedMinutes: 43_200,
  readsUsers: true,
  readsPolicies: true,
  policy: {},
};

export interface EntraOptions extends IdpOptions {
  readonly tenantId: string;
}

/** A tenant of Entra ID: its token endpoint and Graph. */
export type Entra = Awaited<ReturnType<typeof startEntra>>;

/** Starts an Entra ID that registers keys of users on their behalf and enforces attestation. */
export const startEntra = (options: EntraOptions) =>
  startIdp<FidoMethodsState, EntraSettings>(options, {
    name: "entra",
    empty: { challenges: {}, methods: [] },
    settings: initial,
    changes: settings.partial(),
    tokenPath: `/${options.tenantId}/oauth2/v2.0/token`,
    tokenRules: entraTokens,
    open: ({ file, tokens, accounts, chosen }) => {
      const methods = createFidoMethods(file, options.attestationRoot, chosen);
      return {
        registrations: () =>
          file.value.methods.map(({ userId, credentialId, displayName }) => ({ userId, credentialId, displayName })),
        expireChallenges: methods.expireChallenges,
        handle: call => asGraph(call, () => graphRoutes({ tokens, accounts, methods, chosen }, call)),
      };
    },
  });
