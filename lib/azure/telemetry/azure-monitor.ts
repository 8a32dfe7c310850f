import {
  type AzureMonitorExporterOptions,
  AzureMonitorLogExporter,
  AzureMonitorMetricExporter,
  AzureMonitorTraceExporter,
} from "@azure/monitor-opentelemetry-exporter";
import { isLocalService } from "../credential.ts";
import { withoutTls } from "../without-tls.ts";
import type { Exporters } from "./sdk.ts";

/** Application Insights. @param credential none: by the key in the connection string. Throws on an endpoint without TLS elsewhere. */
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
