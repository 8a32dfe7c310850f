import {
  type Attributes,
  DiagLogLevel,
  diag,
  type Histogram,
  ROOT_CONTEXT,
  SpanKind,
  SpanStatusCode,
  trace,
} from "@opentelemetry/api";
import { resourceFromAttributes } from "@opentelemetry/resources";
import {
  BatchLogRecordProcessor,
  LoggerProvider,
  type LogRecordExporter,
  type LogRecordProcessor,
} from "@opentelemetry/sdk-logs";
import { MeterProvider, PeriodicExportingMetricReader, type PushMetricExporter } from "@opentelemetry/sdk-metrics";
import { BatchSpanProcessor, type ReadableSpan, type SpanExporter } from "@opentelemetry/sdk-trace-base";
import type { Level } from "../log.ts";
import { version } from "../settings/deployment-settings.ts";
import { type currentSpan, type Labels, metrics, type Span, type TelemetrySink } from "../telemetry.ts";

/** The exporters to one destination. */
export interface Exporters {
  readonly spans: SpanExporter;
  readonly metrics: PushMetricExporter;
  readonly logs: LogRecordExporter;
}

export interface TelemetrySdk extends TelemetrySink {
  log(event: {
    readonly level: Level;
    readonly event: string;
    readonly fields: Labels;
    /** Milliseconds since 1970. */
    readonly at: number;
    readonly spanContext: ReturnType<typeof currentSpan>;
  }): void;
  /** Sends all queued data. */
  flush(): Promise<void>;
  /** Sends all queued data and stops. */
  shutdown(): Promise<void>;
}

const scope = { name: "fido-credential-backend", version };
const minuteMs = 60_000;
const secondsBounds = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 120, 300, 600];

const silent = () => {};

/**
 * Opens OpenTelemetry's batching, aggregation and sending for the spans, metrics and log events of this app.
 * @param lost gets the exporters' errors, and the reason for which log events are dropped
 */
export function openTelemetrySdk(
  targets: readonly Exporters[],
  resourceLabels: Labels,
  lost: (reason: string) => void,
): TelemetrySdk {
  const logged = { error: lost, warn: silent, info: silent, debug: silent, verbose: silent };
  diag.setLogger(logged, { logLevel: DiagLogLevel.ERROR, suppressOverrideMessage: true });
  const resource = resourceFromAttributes(resourceLabels);
  const spanProcessors = targets.map(({ spans }) => new BatchSpanProcessor(spans));
  const meters = new MeterProvider({
    resource,
    readers: targets.map(
      target => new PeriodicExportingMetricReader({ exporter: target.metrics, exportIntervalMillis: minuteMs }),
    ),
  });
  const loggers = new LoggerProvider({
    resource,
    processors: targets.map(({ logs }) => queueLogs(logs, lost)),
  });
  const logger = loggers.getLogger(scope.name, scope.version);
  const meter = meters.getMeter(scope.name, scope.version);
  const instruments = new Map<string, Histogram>();
  const instrumentOf = (metric: keyof typeof metrics): Histogram => {
    const { unit, description } = metrics[metric];
    const advice = unit === "s" ? { explicitBucketBoundaries: secondsBounds } : {};
    const instrument = instruments.get(metric) ?? meter.createHistogram(metric, { unit, description, advice });
    instruments.set(metric, instrument);
    return instrument;
  };
  return {
    span: span => {
      const readable = readableOf(span, resource);
      for (const processor of spanProcessors) processor.onEnd(readable);
    },
    measure: (metric, value, labels) => instrumentOf(metric).record(value, labels),
    log: ({ level, event, fields, at, spanContext }) =>
      logger.emit({
        timestamp: at,
        severityNumber: severities[level],
        severityText: level,
        body: event,
        attributes: fields,
        ...(spanContext && { context: trace.setSpanContext(ROOT_CONTEXT, contextOf(spanContext)) }),
      }),
    flush: async () => {
      await Promise.all([...spanProcessors, meters, loggers].map(part => part.forceFlush()));
    },
    shutdown: async () => {
      await Promise.all([...spanProcessors, meters, loggers].map(part => part.shutdown()));
    },
  };
}

/** Severity numbers of OpenTelemetry's log data model. */
const severities: Readonly<Record<Level, number>> = { info: 9, warn: 13, error: 17 };

const kinds = { server: SpanKind.SERVER, internal: SpanKind.INTERNAL, client: SpanKind.CLIENT } as const;

const contextOf = ({ traceId, spanId, sampled }: Pick<Span, "traceId" | "spanId" | "sampled">) => ({
  traceId,
  spanId,
  traceFlags: sampled ? 1 : 0,
});

function readableOf(span: Span, resource: ReadableSpan["resource"]): ReadableSpan {
  const { name, kind, parent, startedAt, endedAt, labels, error } = span;
  const attributes: Attributes = { ...labels, ...(error !== undefined && { "error.type": error }) };
  return {
    name,
    kind: kinds[kind],
    spanContext: () => contextOf(span),
    ...(parent && { parentSpanContext: { ...contextOf(span), spanId: parent.spanId, isRemote: parent.remote } }),
    startTime: timeOf(startedAt),
    endTime: timeOf(endedAt),
    duration: timeOf(Math.max(0, endedAt - startedAt)),
    status: { code: error === undefined ? SpanStatusCode.UNSET : SpanStatusCode.ERROR },
    attributes,
    links: [],
    events: [],
    ended: true,
    resource,
    instrumentationScope: scope,
    droppedAttributesCount: 0,
    droppedEventsCount: 0,
    droppedLinksCount: 0,
  };
}

/** Returns a time as seconds and nanoseconds. */
const timeOf = (ms: number): [number, number] => [Math.floor(ms / 1000), Math.round((ms % 1000) * 1e6)];

/** Maximum number of log events that wait to be sent to one destination. Events have about 1 KB. */
const maxQueued = 10_000;

/**
 * Returns a processor that sends log events in batches, and reports that it drops events because its queue is full.
 * OpenTelemetry's own queue holds 2,048 events. A flood of calls fills it, and it then drops further ones without a
 * report, audit events included.
 * @param lost called with the reason for each dropped event
 */
function queueLogs(exporter: LogRecordExporter, lost: (reason: string) => void): LogRecordProcessor {
  let queued = 0;
  const batches = new BatchLogRecordProcessor({
    maxQueueSize: maxQueued,
    exporter: {
      export: (records, done) => {
        queued -= records.length;
        exporter.export(records, done);
      },
      forceFlush: () => exporter.forceFlush(),
      shutdown: () => exporter.shutdown(),
    },
  });
  return {
    onEmit: record => {
      if (queued >= maxQueued) return lost("more log events than can be sent");
      queued++;
      batches.onEmit(record);
    },
    forceFlush: () => batches.forceFlush(),
    shutdown: () => batches.shutdown(),
  };
}
