import type { ConnectorContext } from "../../functions/connector/context.ts";
import { openConnectorContext } from "../../functions/connector/start/open-context.ts";
import { openDeployment } from "../../functions/deployment.ts";
import { createBodyV2 } from "../../lib/connector/api/body-to-draft.ts";
import { createRequest } from "../../lib/connector/create/create-request.ts";
import { processCredentialRequests } from "../../lib/connector/jobs/process-credential-requests.ts";
import { processShipments } from "../../lib/connector/jobs/process-shipments.ts";
import type { DeliveryShipment } from "../../lib/connector/peers/delivery-shipment.ts";
import { connectorTables } from "../../lib/connector/storage/requests.table.ts";
import { openTables } from "../../lib/platform/azure/tables.ts";
import { createLog } from "../../lib/platform/log.ts";
import { readAllSettings } from "../../local/deploy/read-all-settings.ts";
import type { Peers } from "../../local/peers/all.ts";
import { orderBody } from "../connector/orders.ts";
import { type Snapshot, snapshotOf } from "./clone.ts";

/** Who creates requests here. */
export const benchCaller = { kind: "api_token", application: "bench" } as const;

/** One real request, as its rows are at three moments of its life. */
export interface ModelRequest {
  readonly context: ConnectorContext;
  readonly id: string;
  readonly shipmentId: string;
  /** The delivery service's answer while it has not programmed the security key. */
  readonly ongoing: DeliveryShipment;
  /** The shipment is to be polled. */
  readonly ordered: Snapshot;
  /** The security key is to be activated, and its PIN email to be sent. */
  readonly programmed: Snapshot;
  /** Nothing is left to do. */
  readonly ended: Snapshot;
}

/** Orders a security key with one credential at simulated peers, with storage in the emulator, and follows it to its end. */
export async function makeModelRequest(
  environment: Readonly<Record<string, string>>,
  peers: Peers,
): Promise<ModelRequest> {
  const settings = readAllSettings({ ...environment, SERVICE_APIS: "connector" });
  if (settings.connector === undefined) throw new Error("The connector is not configured.");
  const deployment = { ...openDeployment(settings.deployment), log: createLog(() => {}) };
  const context = openConnectorContext(deployment, settings.connector);
  await context.ready();
  const names = connectorTables(settings.connector.settings.CLOUD_TABLES_SHIPMENTS_TABLE_NAME);
  const tables = openTables({ connectionString: environment.CLOUD_STORAGE_CONNECTION_STRING ?? "", timeoutMs: 60_000 });
  const created = await createRequest(createBodyV2.parse(orderBody(1, 1)), { caller: benchCaller }, context);
  const { requestId: id, shipmentId = "" } = created;
  const ongoing = await context.delivery.getShipment(shipmentId);
  const ordered = await snapshotOf(tables, names);
  peers.delivery.settings({ shipAfterMs: 0 });
  await processShipments("on_demand", context);
  const programmed = await snapshotOf(tables, names);
  await processCredentialRequests("on_demand", context);
  await processCredentialRequests("on_demand", context);
  return { context, id, shipmentId, ongoing, ordered, programmed, ended: await snapshotOf(tables, names) };
}
