import * as z from "zod";
import { statusKeysV2, statusV1, statusV2 } from "../../lib/connector/api/status.ts";
import { ok } from "../../lib/platform/http/call.ts";
import { endpoint } from "../../lib/platform/http/endpoint.ts";
import type { ConnectorContext } from "./context.ts";

const statusAnswer = z.lazy(() =>
  z.object({
    ...Object.fromEntries(statusKeysV2.map(name => [name, z.string()])),
    IDP_CONFIGURATIONS: z
      .record(z.string(), z.record(z.string(), z.union([z.string(), z.number()])))
      .meta({ description: "Settings of every configured identity provider by its id, without secrets." }),
  }),
);

/** Specification section 2, deployment status; decision C17. */
export const getStatus = endpoint({
  routes: ["GET /v2/status"],
  access: "caller",
  role: "read",
  tag: "Settings",
  summary: "Read the settings of this deployment",
  description:
    "Returns the settings of this deployment and of its identity providers, without secrets. A setting that is " +
    "not set is an empty text, or absent if it is a number.",
  answers: { 200: { description: "The settings in force.", schema: statusAnswer } },
  handle: (_, { settingTexts, idpSettings }: ConnectorContext) => ok(statusV2(settingTexts, idpSettings())),
});

/** Specification section 2, deployment status of version 1; decision C17. */
export const getStatusV1 = endpoint({
  routes: ["GET /v1/status"],
  access: "caller",
  role: "read",
  tag: "Version 1",
  summary: "Read the settings of this deployment",
  description: "Returns the settings of this deployment and of the default identity provider, without secrets.",
  answers: {
    200: {
      description: "The settings in force, with those of the default identity provider.",
      schema: z.record(z.string(), z.string()),
    },
  },
  handle: (_, { settingTexts, idpSettings, idps }: ConnectorContext) =>
    ok(statusV1(settingTexts, idpSettings().get(idps.defaultId))),
});
