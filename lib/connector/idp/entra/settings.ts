import type { Problem } from "../../../platform/fault.ts";
import { type SettingValues, settingsSchema } from "../../../platform/settings/read-settings.ts";
import { setting } from "../../../platform/settings/setting.ts";
import { endpointUrl, relyingPartyId, withVariable } from "../kind.ts";

const tenantId = setting.text("").refine(text => /^[A-Za-z0-9.-]+$/.test(text), "must be a tenant id or a domain");
const clientId = setting.text("").refine(text => /^[A-Za-z0-9-]+$/.test(text), "must be an application id");

/** A managed identity needs neither tenant nor application. */
export const settings = settingsSchema(
  {
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
    "api-version": withVariable(setting.oneOf(["beta", "v1.0"], "").withDefault("beta"), {
      name: "IDPA_FIDO_API_VERSION",
      description:
        "version of Microsoft Graph. Set it to `v1.0` if all keys are enrolled on site; shipped ones need `beta`.",
    }),
    "challenge-timeout-minutes": withVariable(setting.integer(5, 43_200, "").optional(), {
      name: "IDPA_FIDO_API_CHALLENGE_TIMEOUT_MINUTES",
      description:
        "how long a challenge is valid; by default 20160, and 5 with version `v1.0`. Set it higher if keys are under way for longer.",
    }),
    "managed-identity": withVariable(setting.flag("").withDefault("false"), {
      name: "IDPA_MANAGED_IDENTITY",
      description:
        "call Microsoft Graph as the app's managed identity. Set it to true to need neither application nor secret.",
      identifiesKind: true,
    }),
    "graph-endpoint": withVariable(endpointUrl.withDefault("https://graph.microsoft.com"), {
      name: "IDPA_GRAPH_ENDPOINT",
      description: "Microsoft Graph. Set it in a national cloud.",
    }),
    "online-endpoint": withVariable(endpointUrl.withDefault("https://login.microsoftonline.com"), {
      name: "IDPA_ONLINE_ENDPOINT",
      description: "address that issues access tokens. Set it in a national cloud.",
    }),
    // By default the relying party in the creation options of Entra's global cloud.
    "default-relying-party": withVariable(relyingPartyId.withDefault("login.microsoft.com"), {
      name: "IDPA_DEFAULT_RELYING_PARTY",
      description:
        "relying party of the tenant's passkeys; a request that names another one is refused. Set it in a national cloud.",
    }),
  },
  values => {
    const problems: Problem[] = [];
    for (const path of ["tenant-id", "client-id"] as const)
      if (values[path] === undefined && values["managed-identity"] !== true)
        problems.push({ path, reason: "must be set" });
    if (values["api-version"] === "v1.0" && ![undefined, 5].includes(values["challenge-timeout-minutes"])) {
      const reason = "must be 5 with api-version v1.0, which has no other";
      problems.push({ path: "challenge-timeout-minutes", reason });
    }
    return problems;
  },
);

export type EntraSettings = { readonly type: "entra" } & SettingValues<(typeof settings)["shape"]>;

/** Returns how long a challenge is valid. */
export const challengeMinutes = (values: EntraSettings): number =>
  values["challenge-timeout-minutes"] ?? (values["api-version"] === "v1.0" ? 5 : 20_160);
