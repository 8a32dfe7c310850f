import type { AzureMonitorExporterOptions } from "@azure/monitor-opentelemetry-exporter";
import { isLocalService, withoutTls } from "../azure/services.ts";
import type { Exporters } from "./telemetry-sdk.ts";

/**
 * Loads the exporters to Application Insights. Throws for an endpoint without TLS on another host.
 * @param credential absent: the key in the connection string is used
 */
export async function azureMonitorExporters(
  connectionString: string,
  credential: AzureMonitorExporterOptions["credential"] | undefined,
): Promise<Exporters> {
  const { AzureMonitorLogExporter, AzureMonitorMetricExporter, AzureMonitorTraceExporter } = await import(
    "@azure/monitor-opentelemetry-exporter"
  );
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

/** Loads the exporters by OTLP over HTTP in JSON. They read `OTEL_EXPORTER_OTLP_HEADERS` and the like themselves. */
export async function otlpExporters(endpoint: string): Promise<Exporters> {
  const [{ OTLPTraceExporter }, { AggregationTemporalityPreference, OTLPMetricExporter }, { OTLPLogExporter }] =
    await Promise.all([
      import("@opentelemetry/exporter-trace-otlp-http"),
      import("@opentelemetry/exporter-metrics-otlp-http"),
      import("@opentelemetry/exporter-logs-otlp-http"),
    ]);
  const url = (signal: string) => `${endpoint}/v1/${signal}`;
  return {
    spans: new OTLPTraceExporter({ url: url("traces") }),
    metrics: new OTLPMetricExporter({
      url: url("metrics"),
      temporalityPreference: AggregationTemporalityPreference.DELTA,
    }),
    logs: new OTLPLogExporter({ url: url("logs") }),
  };
}
