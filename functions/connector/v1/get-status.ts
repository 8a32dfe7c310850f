import * as z from "zod";
import { statusV1 } from "../../../lib/connector/api/status.ts";
import { ok } from "../../../lib/platform/http/call.ts";
import { endpoint } from "../../../lib/platform/http/endpoint.ts";
import type { ConnectorContext } from "../context.ts";

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
