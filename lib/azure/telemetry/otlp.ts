import { OTLPLogExporter } from "@opentelemetry/exporter-logs-otlp-http";
import { AggregationTemporalityPreference, OTLPMetricExporter } from "@opentelemetry/exporter-metrics-otlp-http";
import { OTLPTraceExporter } from "@opentelemetry/exporter-trace-otlp-http";
import type { Exporters } from "./sdk.ts";

/** OTLP over HTTP in JSON. `OTEL_EXPORTER_OTLP_HEADERS` and what else OpenTelemetry defines for it is followed. */
export function otlpExporters(endpoint: string): Exporters {
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
