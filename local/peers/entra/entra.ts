import { type IdpOptions, startIdp } from "../idp/idp.ts";
import { asGraph } from "./errors.ts";
import { createFidoMethods, type FidoMethodsState } from "./methods.ts";
import { graphRoutes } from "./routes.ts";
import { type EntraSettings, initial, settings } from "./settings.ts";
import { entraTokens } from "./tokens.ts";

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
          file.value.methods.map(({ userId, credentialId, displayName }) => ({
            userId: accounts.withId(userId).name,
            credentialId,
            displayName,
          })),
        expireChallenges: methods.expireChallenges,
        handle: call => asGraph(call, () => graphRoutes({ tokens, accounts, methods, chosen }, call)),
      };
    },
  });
