import { type SettingValues, settingsSchema } from "../../../platform/settings/read-settings.ts";
import { setting } from "../../../platform/settings/setting.ts";
import { endpointUrl, relyingPartyId, withVariable } from "../kind.ts";

const id = (name: string) => setting.text("").refine(text => /^[A-Za-z0-9-]+$/.test(text), `must be ${name}`);

export const settings = settingsSchema({
  "default-relying-party": withVariable(relyingPartyId, {
    name: "IDPB_DEFAULT_RELYING_PARTY",
    description: "relying party for which security keys are registered. Set it to the domain at which users sign in.",
  }),
  "api-base-url": withVariable(endpointUrl, {
    name: "IDPB_API_BASE_URL",
    description: "PingOne's API, with or without `/v1`. Set it to that of your region.",
  }),
  "auth-base-url": withVariable(endpointUrl, {
    name: "IDPB_AUTH_BASE_URL",
    description: "address that issues access tokens. Set it to that of your region.",
  }),
  "environment-id": withVariable(id("an environment id"), {
    name: "IDPB_ENVIRONMENT",
    description: "environment of PingOne. Set it to the one that has the users.",
  }),
  "client-id": withVariable(id("an application id"), {
    name: "IDPB_CLIENT_ID",
    description: "worker application. Set it to the one that may manage devices.",
  }),
  "pre-registration-timeout-days": withVariable(setting.integer(1, 365, "").optional(), {
    name: "IDPB_PRE_REGISTRATION_TIMEOUT_DAYS",
    description:
      "how long a challenge is valid; without limit if it is not set. Set it if your policy demands a limit.",
  }),
  "policy-id": withVariable(id("a policy id").optional(), {
    name: "IDPB_POLICY_ID",
    description:
      "device authentication policy of new security keys; by default the environment's. Set it if another one allows security keys.",
  }),
});

export type PingOneSettings = { readonly type: "pingone" } & SettingValues<(typeof settings)["shape"]>;
