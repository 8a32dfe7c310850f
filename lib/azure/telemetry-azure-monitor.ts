import {
  type AzureMonitorExporterOptions,
  AzureMonitorLogExporter,
  AzureMonitorMetricExporter,
  AzureMonitorTraceExporter,
} from "@azure/monitor-opentelemetry-exporter";
import type { Exporters } from "./telemetry-sdk.ts";

/** Application Insights. @param credential none: by the key in the connection string */
export function azureMonitorExporters(
  connectionString: string,
  credential: AzureMonitorExporterOptions["credential"] | undefined,
): Exporters {
  const options: AzureMonitorExporterOptions = { connectionString, ...(credential && { credential }) };
  return {
    spans: new AzureMonitorTraceExporter(options),
    metrics: new AzureMonitorMetricExporter(options),
    logs: new AzureMonitorLogExporter(options),
  };
}
