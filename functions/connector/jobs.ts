import * as z from "zod";
import { noSink } from "../../lib/connector/event-settings.ts";
import { sendEvents } from "../../lib/connector/events/send-events.ts";
import { cleanUp } from "../../lib/connector/jobs/clean-up.ts";
import { processCredentialRequests } from "../../lib/connector/jobs/process-credential-requests.ts";
import { processShipments } from "../../lib/connector/jobs/process-shipments.ts";
import type { ConnectorSettings } from "../../lib/connector/settings.ts";
import { noContent, ok } from "../../lib/platform/http/call.ts";
import { endpoint } from "../../lib/platform/http/endpoint.ts";
import { type Job, runJob } from "../../lib/platform/http/job.ts";
import { noParameters } from "./call-fields.ts";
import type { ConnectorContext } from "./context.ts";

/** Returns the timer jobs by function name (specification section 2). */
export const connectorJobs = (settings: ConnectorSettings): Readonly<Record<string, Job<ConnectorContext>>> => ({
  processShipments: {
    schedule: settings.CRON_PROCESS_SHIPMENT_SCHEDULE,
    run: whenReady(context => processShipments("timer", context)),
  },
  processCredentialRequests: {
    schedule: settings.CRON_PROCESS_CREDENTIAL_REQUESTS_SCHEDULE,
    run: whenReady(context => processCredentialRequests("timer", context)),
  },
  dataCleanup: {
    schedule: settings.CRON_DATA_CLEANUP_SCHEDULE,
    run: whenReady(context => cleanUp(context.cleanUpCompletedDays, context)),
  },
  ...(settings.EVENT_SINK_URLS.some(url => url !== noSink) && {
    sendEvents: { schedule: settings.CRON_EVENT_SCHEDULE, run: sendEvents },
  }),
});

const whenReady =
  (run: (context: ConnectorContext) => Promise<object>): Job<ConnectorContext>["run"] =>
  async context => {
    await context.ready();
    return run(context);
  };

/** Runs the job of shipments now (specification section 9). Version 1 differs in path and tag only. */
export const processShipmentsNow = endpoint({
  routes: ["GET /v2/operations/process-shipments"],
  access: "caller",
  tag: "Jobs",
  summary: "Process shipments now",
  description:
    "Runs the job that asks the delivery service for open shipments and reads the responses of the key maker, activates " +
    "version 1 security keys and sends their PIN emails, and tracks shipments that are due, now instead of at its next " +
    "scheduled time. Returns when the job is done. After 100 seconds it starts no further work.",
  query: noParameters,
  answers: { 204: { description: "Done." } },
  handle: async (_, context: ConnectorContext) => {
    await runJob("processShipments", "call", context.log, () => processShipments("on_demand", context));
    return noContent;
  },
});

export const processShipmentsNowV1: typeof processShipmentsNow = {
  ...processShipmentsNow,
  tag: "Version 1",
  routes: ["GET /v1/operations/process-shipments"],
};

const processing =
  "Runs the job that asks for the responses of authenticators, activates credentials at the identity providers, sends PIN " +
  "emails, reconciles interrupted requests, continues cancels and revokes replaced security keys, for all requests, now " +
  "instead of at its next scheduled time. Returns when the job is done. After 100 seconds it starts no further work.";

const count = (description: string) => z.int().min(0).meta({ description });

const processedV2 = z.lazy(() =>
  z.object({
    data: z
      .object({
        processed: count("Credentials looked at."),
        activated: count("Of those, now active."),
        failed: count("Of those, failed for good."),
        pending: count("Of those, still due."),
      })
      .meta({ id: "ProcessedCredentials" }),
  }),
);

const processRequestsNow = (context: ConnectorContext) =>
  runJob("processCredentialRequests", "call", context.log, () => processCredentialRequests("on_demand", context));

/** Runs the job of credential requests now, and returns what it did (specification section 4, C2, C15). */
export const processCredentialRequestsNow = endpoint({
  routes: ["POST /v2/operations/process-credential-requests"],
  access: "caller",
  tag: "Jobs",
  summary: "Activate credentials and send PIN emails now",
  description: `${processing} Work for an external system that throttles or is not responding stays due.`,
  answers: { 200: { description: "What was done.", schema: processedV2 } },
  handle: async (_, context: ConnectorContext) => {
    const { deferred, ...counts } = await processRequestsNow(context);
    return ok({ data: counts });
  },
});

/** The same in version 1, without a body (specification section 4, C15). */
export const processCredentialRequestsNowV1 = endpoint({
  routes: ["POST /v1/operations/process-credential-requests"],
  access: "caller",
  tag: "Version 1",
  summary: "Activate credentials and send PIN emails now",
  description: processing,
  answers: { 204: { description: "Done." } },
  handle: async (_, context: ConnectorContext) => {
    await processRequestsNow(context);
    return noContent;
  },
});
