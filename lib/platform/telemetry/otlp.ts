import { OTLPLogExporter } from "@opentelemetry/exporter-logs-otlp-http";
import { AggregationTemporalityPreference, OTLPMetricExporter } from "@opentelemetry/exporter-metrics-otlp-http";
import { OTLPTraceExporter } from "@opentelemetry/exporter-trace-otlp-http";
import type { Exporters } from "./telemetry-sdk.ts";

/** Returns the exporters by OTLP over HTTP in JSON. They read `OTEL_EXPORTER_OTLP_HEADERS` and the like themselves. */
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
