import { AsyncLocalStorage } from "node:async_hooks";
import { type Result, toResult } from "./async.ts";

/** Every metric that the app records. Alert rules use these names (docs/telemetry.md). */
export const metrics = {
  "event.unsent.age": { unit: "s", description: "Age of a due event that could not be sent to its sink." },
  "job.duration": { unit: "s", description: "Duration of a job run." },
  "job.items": { unit: "{item}", description: "Items that a job run processed, by result." },
  "pin_mail.unsent.age": { unit: "s", description: "Age of a due PIN email that a job run could not send." },
  "password.imported": { unit: "{password}", description: "Password hashes that were imported or renewed." },
  "peer.call.duration": { unit: "s", description: "Duration of a call to a peer." },
  "secret.days_left": { unit: "d", description: "Days until a Key Vault secret expires." },
} as const;

type Metric = keyof typeof metrics;

/** Attributes of a span or metric. They must not contain a query, a path, a secret or a recipient's data (G10). */
export type Labels = Readonly<Record<string, string | number | boolean>>;

type SpanKind = "server" | "internal" | "client";

/** A finished span of a trace (W3C Trace Context). */
export interface Span {
  readonly name: string;
  readonly kind: SpanKind;
  readonly traceId: string;
  readonly spanId: string;
  readonly parent?: { readonly spanId: string; readonly remote: boolean };
  /** The sampling decision of the service that started the trace. */
  readonly sampled: boolean;
  /** Milliseconds since 1970, with a fraction. */
  readonly startedAt: number;
  readonly endedAt: number;
  readonly labels: Labels;
  /** Set if the work failed: a name, not a message, because messages may quote external data. */
  readonly error?: string;
}

/** Receives finished spans and metric values. */
export interface TelemetrySink {
  span(span: Span): void;
  measure(metric: Metric, value: number, labels: Labels): void;
}

/** The dependencies of tracing. */
export interface Tracer {
  readonly sink: TelemetrySink;
  /** Milliseconds since 1970, with a fraction. */
  readonly now: () => number;
  readonly random: (bytes: number) => Uint8Array;
}

/** The trace and span that are current. */
interface SpanContext {
  readonly traceId: string;
  readonly spanId: string;
  readonly sampled: boolean;
}

/** A span that has not ended. */
export interface ActiveSpanHandle {
  label(labels: Labels): void;
  /** Runs `work` with this span as the current one. */
  within<T>(work: () => T): T;
  /** Ends the span. Later calls do nothing. @param error name of the failure */
  end(error?: string): void;
}

interface ActiveSpan extends SpanContext {
  readonly tracer: Tracer;
}

const activeSpan = new AsyncLocalStorage<ActiveSpan>();

/** Returns the current span; undefined outside of a trace. */
export const currentSpan = (): SpanContext | undefined => activeSpan.getStore();

/** Starts a child of the current span, which the caller must end. Returns undefined outside of a trace. */
export function startSpan(name: string, kind: SpanKind, labels: Labels): ActiveSpanHandle | undefined {
  const parent = activeSpan.getStore();
  return parent && createSpan(parent.tracer, { name, kind, labels, parent: { ...parent, remote: false } });
}

/** Runs `work` in a span of the trace that the W3C `traceparent` header names, or of a new trace. */
export function inTrace<T>(
  tracer: Tracer,
  { name, labels, traceParent }: { name: string; labels: Labels; traceParent?: string | undefined },
  work: (span: ActiveSpanHandle) => Promise<T>,
): Promise<T> {
  const parent = parseTraceParent(traceParent);
  const kind = parent === undefined ? "server" : "internal";
  return runAndEnd(createSpan(tracer, { name, kind, labels, parent }), work);
}

/** Records a value of a metric. Outside of a trace it does nothing. */
export function measure(metric: Metric, value: number, labels: Labels = {}): void {
  activeSpan.getStore()?.tracer.sink.measure(metric, value, labels);
}

/** Runs work outside of any trace, such as exporting telemetry. */
export const withoutSpan = <T>(work: () => T): T => activeSpan.exit(work);

/**
 * Runs `work` in a child span, which fails if `work` rejects, and records its duration in seconds, with the same labels
 * and the label `outcome`. Outside of a trace it only runs `work`.
 * @param outcomeOf returns the value of the label `outcome`
 */
export async function timed<T>(
  metric: Metric,
  name: string,
  options: { kind?: SpanKind; labels: Labels; outcomeOf: (ended: Result<T>) => string },
  work: (span: ActiveSpanHandle) => Promise<T>,
): Promise<T> {
  const { kind = "internal", labels, outcomeOf } = options;
  const parent = activeSpan.getStore();
  const child = startSpan(name, kind, labels);
  if (parent === undefined || child === undefined) return work(noopSpan);
  const { now } = parent.tracer;
  const startedAt = now();
  return runAndEnd(child, async span => {
    const ended = await toResult(work(span));
    const outcome = outcomeOf(ended);
    span.label({ outcome });
    // The clock of the system may be set back.
    measure(metric, Math.max(0, now() - startedAt) / 1000, { ...labels, outcome });
    if ("error" in ended) throw ended.error;
    return ended.value;
  });
}

/** Returns the name of a thrown error. */
export const errorName = (error: unknown): string => (error instanceof Error ? error.name : "thrown");

async function runAndEnd<T>(span: ActiveSpanHandle, work: (span: ActiveSpanHandle) => Promise<T>): Promise<T> {
  try {
    const result = await span.within(() => work(span));
    span.end();
    return result;
  } catch (error) {
    span.end(errorName(error));
    throw error;
  }
}

const noopSpan: ActiveSpanHandle = { label: () => {}, within: work => work(), end: () => {} };

interface SpanStart {
  readonly name: string;
  readonly kind: SpanKind;
  readonly labels: Labels;
  readonly parent: (SpanContext & { readonly remote: boolean }) | undefined;
}

function createSpan(tracer: Tracer, { name, kind, labels, parent }: SpanStart): ActiveSpanHandle {
  const id = (bytes: number) => Buffer.from(tracer.random(bytes)).toString("hex");
  const context = { traceId: parent?.traceId ?? id(16), spanId: id(8), sampled: parent?.sampled ?? true };
  const startedAt = tracer.now();
  let allLabels = labels;
  let isEnded = false;
  return {
    label: more => {
      allLabels = { ...allLabels, ...more };
    },
    within: work => activeSpan.run({ ...context, tracer }, work),
    end: error => {
      if (isEnded) return;
      isEnded = true;
      tracer.sink.span({
        name,
        kind,
        ...context,
        ...(parent && { parent: { spanId: parent.spanId, remote: parent.remote } }),
        startedAt,
        endedAt: tracer.now(),
        labels: allLabels,
        ...(error !== undefined && { error }),
      });
    },
  };
}

/** Parses a `traceparent` header (W3C Trace Context 3.2). Returns undefined if it is missing or invalid. */
function parseTraceParent(traceParent = ""): (SpanContext & { readonly remote: boolean }) | undefined {
  const [, traceId, spanId, flags] = /^00-([0-9a-f]{32})-([0-9a-f]{16})-([0-9a-f]{2})$/.exec(traceParent) ?? [];
  if (traceId === undefined || spanId === undefined || /^0+$/.test(traceId) || /^0+$/.test(spanId)) return undefined;
  return { traceId, spanId, sampled: (Number.parseInt(flags ?? "0", 16) & 1) === 1, remote: true };
}
