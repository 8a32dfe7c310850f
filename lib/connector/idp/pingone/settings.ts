import * as z from "zod";
import { endpointUrl, wholeNumber, withVariable } from "../kind.ts";
import { relyingPartyId } from "../relying-party-id.ts";

const id = (name: string) => z.string().regex(/^[A-Za-z0-9-]+$/, `must be ${name}`);

export const settings = z.strictObject({
  type: z.literal("pingone"),
  "default-relying-party": withVariable(relyingPartyId, {
    name: "IDPB_DEFAULT_RELYING_PARTY",
    description: "relying party for which security keys are registered.",
  }),
  "api-base-url": withVariable(endpointUrl, {
    name: "IDPB_API_BASE_URL",
    description: "PingOne's API, with or without `/v1`.",
  }),
  "auth-base-url": withVariable(endpointUrl, {
    name: "IDPB_AUTH_BASE_URL",
    description: "address that issues access tokens.",
  }),
  "environment-id": withVariable(id("an environment id"), {
    name: "IDPB_ENVIRONMENT",
    description: "environment of PingOne.",
  }),
  "client-id": withVariable(id("an application id"), { name: "IDPB_CLIENT_ID", description: "worker application." }),
  "pre-registration-timeout-days": withVariable(wholeNumber(1, 365).optional(), {
    name: "IDPB_PRE_REGISTRATION_TIMEOUT_DAYS",
    description: "how long a challenge is valid; without limit if it is not set.",
  }),
  "policy-id": withVariable(id("a policy id").optional(), {
    name: "IDPB_POLICY_ID",
    description: "device authentication policy of new security keys; by default the environment's.",
  }),
});

export type PingOneSettings = z.output<typeof settings>;
