import { AsyncLocalStorage } from "node:async_hooks";
import type { Metric } from "./metrics.ts";

/** What a span or a metric says of itself. Never a query, a path, a secret or a recipient's data (decision G10). */
export type Labels = Readonly<Record<string, string | number | boolean>>;

export type SpanKind = "server" | "internal" | "client";

/** A piece of work that has ended, as part of a trace (W3C Trace Context). */
export interface Span {
  readonly name: string;
  readonly kind: SpanKind;
  readonly traceId: string;
  readonly spanId: string;
  readonly parent?: { readonly spanId: string; readonly remote: boolean };
  /** Whether whoever began the trace wants it recorded. */
  readonly sampled: boolean;
  /** Milliseconds since 1970, with a fraction. */
  readonly startedAt: number;
  readonly endedAt: number;
  readonly labels: Labels;
  /** Set where it failed: a word, never a message, which may quote foreign data (decision G10). */
  readonly error?: string;
}

/** Where spans and metrics go. */
export interface TelemetrySink {
  span(span: Span): void;
  measure(metric: Metric, value: number, labels: Labels): void;
}

/** What a trace is made with (decision G9). */
export interface Tracer {
  readonly sink: TelemetrySink;
  /** Milliseconds since 1970, with a fraction. */
  readonly now: () => number;
  readonly random: (bytes: number) => Uint8Array;
}

/** Where in a trace the code that runs now is. */
export interface SpanContext {
  readonly traceId: string;
  readonly spanId: string;
  readonly sampled: boolean;
}

/** A span under way. */
export interface OpenSpan {
  label(labels: Labels): void;
  /** Runs `work` below this span. */
  within<T>(work: () => T): T;
  /** Ends it, once. @param error a word for what went wrong */
  end(error?: string): void;
}

interface Active extends SpanContext {
  readonly tracer: Tracer;
}

const active = new AsyncLocalStorage<Active>();

/** The place of the code that runs now; undefined where nothing is recorded. */
export const currentSpan = (): SpanContext | undefined => active.getStore();

/** Begins a span below the current one; undefined where nothing is recorded. The caller ends it. */
export function openSpan(name: string, kind: SpanKind, labels: Labels): OpenSpan | undefined {
  const parent = active.getStore();
  return parent && open(parent.tracer, { name, kind, labels, parent: { ...parent, remote: false } });
}

/**
 * Runs `work` in a trace: the one that the W3C `traceparent` names, below its span, or a new one. `work` labels its span.
 */
export function inTrace<T>(
  tracer: Tracer,
  { name, labels, traceParent }: { name: string; labels: Labels; traceParent?: string | undefined },
  work: (span: OpenSpan) => Promise<T>,
): Promise<T> {
  const parent = placeOf(traceParent);
  return ended(open(tracer, { name, kind: parent === undefined ? "server" : "internal", labels, parent }), work);
}

/** Runs `work` below a span of its own, which fails where `work` does. Where nothing is recorded it just runs. */
export function inSpan<T>(
  name: string,
  { kind = "internal", labels = {} }: { kind?: SpanKind; labels?: Labels },
  work: (span: OpenSpan) => Promise<T>,
): Promise<T> {
  return ended(openSpan(name, kind, labels) ?? unrecorded, work);
}

/** Adds a value to a metric; nothing where nothing is recorded. */
export function measure(metric: Metric, value: number, labels: Labels = {}): void {
  const here = active.getStore();
  here?.tracer.sink.measure(metric, value, labels);
}

/** Runs work that is no part of any trace, such as sending one away. */
export const withoutSpan = <T>(work: () => T): T => active.exit(work);

/** How a piece of work ended. */
export type Ended<T> = { readonly error: unknown } | { readonly result: T };

/**
 * `inSpan`, and its seconds in a metric under the same labels and an `outcome`.
 * @param outcomeOf a word for how it ended
 */
export async function timed<T>(
  metric: Metric,
  name: string,
  { kind, labels, outcomeOf }: { kind?: SpanKind; labels: Labels; outcomeOf: (ended: Ended<T>) => string },
  work: (span: OpenSpan) => Promise<T>,
): Promise<T> {
  const tracer = active.getStore()?.tracer;
  if (tracer === undefined) return work(unrecorded);
  const startedAt = tracer.now();
  return inSpan(name, { ...(kind && { kind }), labels }, async span => {
    const tell = (ended: Ended<T>) => {
      const outcome = outcomeOf(ended);
      span.label({ outcome });
      measure(metric, (tracer.now() - startedAt) / 1000, { ...labels, outcome });
    };
    try {
      const result = await work(span);
      tell({ result });
      return result;
    } catch (error) {
      tell({ error });
      throw error;
    }
  });
}

/** A word for what was thrown. */
export const errorName = (error: unknown): string => (error instanceof Error ? error.name : "thrown");

async function ended<T>(span: OpenSpan, work: (span: OpenSpan) => Promise<T>): Promise<T> {
  try {
    const result = await span.within(() => work(span));
    span.end();
    return result;
  } catch (error) {
    span.end(errorName(error));
    throw error;
  }
}

const unrecorded: OpenSpan = { label: () => {}, within: work => work(), end: () => {} };

interface Begun {
  readonly name: string;
  readonly kind: SpanKind;
  readonly labels: Labels;
  readonly parent: (SpanContext & { readonly remote: boolean }) | undefined;
}

function open(tracer: Tracer, { name, kind, labels, parent }: Begun): OpenSpan {
  const id = (bytes: number) => Buffer.from(tracer.random(bytes)).toString("hex");
  const place = { traceId: parent?.traceId ?? id(16), spanId: id(8), sampled: parent?.sampled ?? true };
  const startedAt = tracer.now();
  let known = labels;
  let over = false;
  return {
    label: more => {
      known = { ...known, ...more };
    },
    within: work => active.run({ ...place, tracer }, work),
    end: error => {
      if (over) return;
      over = true;
      tracer.sink.span({
        name,
        kind,
        ...place,
        ...(parent && { parent: { spanId: parent.spanId, remote: parent.remote } }),
        startedAt,
        endedAt: tracer.now(),
        labels: known,
        ...(error !== undefined && { error }),
      });
    },
  };
}

/** Of a `traceparent` (W3C Trace Context 3.2); undefined where there is none that can be read. */
function placeOf(traceParent = ""): (SpanContext & { readonly remote: boolean }) | undefined {
  const [, traceId, spanId, flags] = /^00-([0-9a-f]{32})-([0-9a-f]{16})-([0-9a-f]{2})$/.exec(traceParent) ?? [];
  if (traceId === undefined || spanId === undefined || /^0+$/.test(traceId) || /^0+$/.test(spanId)) return undefined;
  return { traceId, spanId, sampled: (Number.parseInt(flags ?? "0", 16) & 1) === 1, remote: true };
}
