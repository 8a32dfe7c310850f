import { processShipments } from "../../lib/connector/jobs/process-shipments.ts";
import { noContent } from "../../lib/platform/http/call.ts";
import { endpoint } from "../../lib/platform/http/endpoint.ts";
import { runJob } from "../../lib/platform/http/job.ts";
import type { ConnectorContext } from "./context.ts";

/** Identical in both versions (specification section 9). */
export const processShipmentsNow = endpoint({
  routes: ["GET /v2/operations/process-shipments"],
  access: "caller",
  tag: "Jobs",
  summary: "Retrieve and process shipment responses now",
  description:
    "Runs the job that asks the delivery service for shipments and reads the responses of the key maker, for all " +
    "shipments, now instead of at its next scheduled time. Returns when the job is done.",
  answers: { 204: { description: "Done." } },
  handle: async (_, context: ConnectorContext) => {
    await runJob("processShipments", "call", context.log, () => processShipments("on_demand", context));
    return noContent;
  },
});

/** The same in version 1 (specification section 9). */
export const processShipmentsNowV1: typeof processShipmentsNow = {
  ...processShipmentsNow,
  tag: "Version 1",
  routes: ["GET /v1/operations/process-shipments"],
};
