import { noSink } from "../../lib/connector/event-settings.ts";
import { sendEvents } from "../../lib/connector/events/send-events.ts";
import { cleanUp } from "../../lib/connector/jobs/clean-up.ts";
import { processCredentialRequests } from "../../lib/connector/jobs/process-credential-requests.ts";
import { processShipments } from "../../lib/connector/jobs/process-shipments.ts";
import type { ConnectorSettings } from "../../lib/connector/settings.ts";
import type { Job } from "../../lib/platform/http/job.ts";
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
