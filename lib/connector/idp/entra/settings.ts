import * as z from "zod";
import { endpointUrl, relyingPartyId, wholeNumber, withVariable } from "../kind.ts";

const flag = z.union([z.boolean(), z.enum(["true", "false"]).transform(text => text === "true")], {
  error: "must be true or false",
});
const tenantId = z.string().regex(/^[A-Za-z0-9.-]+$/, "must be a tenant id or a domain");
const clientId = z.string().regex(/^[A-Za-z0-9-]+$/, "must be an application id");

/** A managed identity needs neither tenant nor application. */
export const settings = z
  .strictObject({
    type: z.literal("entra"),
    "tenant-id": withVariable(tenantId.optional(), {
      name: "IDPA_TENANT_ID",
      description: "tenant; by default `CLOUD_TENANT_ID`. Set it if the users are in another tenant.",
      fallback: "CLOUD_TENANT_ID",
      identifiesKind: true,
    }),
    "client-id": withVariable(clientId.optional(), {
      name: "IDPA_FIDO_API_CLIENT_ID",
      description: "application that calls Microsoft Graph. Set it unless `IDPA_MANAGED_IDENTITY` is true.",
      identifiesKind: true,
    }),
    "api-version": withVariable(z.enum(["beta", "v1.0"], { error: "must be one of beta, v1.0" }).default("beta"), {
      name: "IDPA_FIDO_API_VERSION",
      description:
        "version of Microsoft Graph. Set it to `v1.0` if all keys are enrolled on site; shipped ones need `beta`.",
    }),
    "challenge-timeout-minutes": withVariable(wholeNumber(5, 43_200).optional(), {
      name: "IDPA_FIDO_API_CHALLENGE_TIMEOUT_MINUTES",
      description:
        "how long a challenge is valid; by default 20160, and 5 with version `v1.0`. Set it higher if keys are under way for longer.",
    }),
    "managed-identity": withVariable(flag.default(false), {
      name: "IDPA_MANAGED_IDENTITY",
      description:
        "call Microsoft Graph as the app's managed identity. Set it to true to need neither application nor secret.",
      identifiesKind: true,
    }),
    "graph-endpoint": withVariable(endpointUrl.default("https://graph.microsoft.com"), {
      name: "IDPA_GRAPH_ENDPOINT",
      description: "Microsoft Graph. Set it in a national cloud.",
    }),
    "online-endpoint": withVariable(endpointUrl.default("https://login.microsoftonline.com"), {
      name: "IDPA_ONLINE_ENDPOINT",
      description: "address that issues access tokens. Set it in a national cloud.",
    }),
    // By default the relying party in the creation options of Entra's global cloud.
    "default-relying-party": withVariable(relyingPartyId.default("login.microsoft.com"), {
      name: "IDPA_DEFAULT_RELYING_PARTY",
      description:
        "relying party of the tenant's passkeys; a request that names another one is refused. Set it in a national cloud.",
    }),
  })
  .superRefine((values, context) => {
    for (const key of ["tenant-id", "client-id"] as const)
      if (values[key] === undefined && !values["managed-identity"])
        context.addIssue({ code: "custom", path: [key], message: "must be set" });
  })
  .transform(values => ({
    ...values,
    "challenge-timeout-minutes": values["challenge-timeout-minutes"] ?? (values["api-version"] === "v1.0" ? 5 : 20_160),
  }))
  .refine(values => values["api-version"] === "beta" || values["challenge-timeout-minutes"] === 5, {
    path: ["challenge-timeout-minutes"],
    error: "must be 5 with api-version v1.0, which has no other",
  });

export type EntraSettings = z.output<typeof settings>;
