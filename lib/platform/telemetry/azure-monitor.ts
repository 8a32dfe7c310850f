import {
  type AzureMonitorExporterOptions,
  AzureMonitorLogExporter,
  AzureMonitorMetricExporter,
  AzureMonitorTraceExporter,
} from "@azure/monitor-opentelemetry-exporter";
import { isLocalService, withoutTls } from "../azure/services.ts";
import type { Exporters } from "./telemetry-sdk.ts";

/**
 * Returns the exporters to Application Insights. Throws for an endpoint without TLS on another host.
 * @param credential absent: the key in the connection string is used
 */
export function azureMonitorExporters(
  connectionString: string,
  credential: AzureMonitorExporterOptions["credential"] | undefined,
): Exporters {
  const [, endpoint] = /(?:^|;)IngestionEndpoint=([^;]+)/i.exec(connectionString) ?? [];
  const local = endpoint !== undefined && isLocalService(endpoint);
  const options: AzureMonitorExporterOptions = {
    connectionString,
    ...(credential && { credential }),
    ...(local && { additionalPolicies: [withoutTls] }),
  };
  return {
    spans: new AzureMonitorTraceExporter(options),
    metrics: new AzureMonitorMetricExporter(options),
    logs: new AzureMonitorLogExporter(options),
  };
}
