import { type Instrumenter, type TracingContext, type TracingSpan, useInstrumenter } from "@azure/core-tracing";
import { app, type HttpRequest, type HttpResponseInit, type InvocationContext } from "@azure/functions";
import { type ActiveSpanHandle, errorName, inTrace, type Labels, startSpan, type Tracer } from "../telemetry.ts";

/**
 * Runs every invocation in the host's trace, or in a new one if the host has none. Declares that this process sends its
 * log events itself: otherwise the host would send them again. Call it before any function is registered.
 * @param flush sends all queued data; the platform may stop the machine at any moment after a timer's run
 */
export function traceInvocations(tracer: Tracer, flush: () => Promise<void>): void {
  app.setup({ capabilities: { WorkerOpenTelemetryEnabled: true } });
  app.hook.preInvocation(before => {
    const { functionHandler, invocationContext, inputs } = before;
    const { isTimer, name, labels } = describeInvocation(invocationContext, inputs[0]);
    const traceParent = invocationContext.traceContext?.traceParent;
    before.functionHandler = async (...args: Parameters<typeof functionHandler>) => {
      try {
        return await inTrace(tracer, { name, labels, traceParent }, async span => {
          const result: unknown = await functionHandler(...args);
          recordStatus(span, result);
          return result;
        });
      } finally {
        if (isTimer) await flush();
      }
    };
  });
}

/** Returns the name and the labels of the span of an invocation: the template of its route, never the URL. */
function describeInvocation({ functionName, options }: InvocationContext, input: unknown) {
  const { type, route = functionName } = options.trigger as unknown as { type: string; route?: string };
  if (type !== "httpTrigger")
    return { isTimer: true, name: `timer ${functionName}`, labels: { "faas.name": functionName } };
  const { method } = input as HttpRequest;
  const labels = { "faas.name": functionName, "http.request.method": method, "http.route": `/${route}` };
  return { isTimer: false, name: `${method} /${route}`, labels };
}

/** Records the status of a response. A refusal is no failure. */
function recordStatus(span: ActiveSpanHandle, result: unknown): void {
  const { status } = (result ?? {}) as HttpResponseInit;
  if (status === undefined) return;
  span.label({ "http.response.status_code": status });
  if (status >= 500) span.end(String(status));
}

/**
 * Creates a client span for every HTTP attempt of the Azure SDKs, named for the SDK's operation. Keeps only method,
 * host and status, because paths and queries contain row keys and names. Adds no headers to requests.
 */
export function traceSdkCalls(): void {
  useInstrumenter(instrumenter);
}

const operation = Symbol("operation");

const instrumenter: Instrumenter = {
  startSpan(name, { spanKind, spanAttributes = {}, tracingContext = contextOf(new Map()) }) {
    const isAttempt = spanKind === "client" && "http.method" in spanAttributes;
    if (!isAttempt) return { span: noopSpan, tracingContext: tracingContext.setValue(operation, name) };
    const method = String(spanAttributes["http.method"]);
    const named = tracingContext.getValue(operation);
    const labels = { "http.request.method": method, ...hostOf(spanAttributes["http.url"]) };
    const span = startSpan(typeof named === "string" ? named : method, "client", labels);
    return { span: span === undefined ? noopSpan : spanOf(span), tracingContext };
  },
  withContext: (_, callback, ...args) => callback(...args),
  parseTraceparentHeader: () => undefined,
  createRequestHeaders: () => ({}),
};

/** The span of a whole operation is not recorded, only its attempts. */
const noopSpan: TracingSpan = {
  setStatus: () => {},
  setAttribute: () => {},
  recordException: () => {},
  isRecording: () => false,
  end: () => {},
};

/** Labels by the SDKs' names for them; others are dropped. */
const keptLabels: Readonly<Record<string, string>> = {
  "http.status_code": "http.response.status_code",
  "az.namespace": "az.namespace",
};

function spanOf(span: ActiveSpanHandle): TracingSpan {
  let failure: string | undefined;
  let status: string | undefined;
  return {
    setStatus: result => {
      if (result.status === "error") failure = result.error instanceof Error ? errorName(result.error) : "error";
    },
    setAttribute: (name, value) => {
      const label = keptLabels[name];
      if (label === undefined || (typeof value !== "string" && typeof value !== "number") || value === "") return;
      if (name === "http.status_code") status = String(value);
      span.label({ [label]: value });
    },
    recordException: () => {},
    isRecording: () => true,
    end: () => span.end(failure && (status ?? failure)),
  };
}

function hostOf(url: unknown): Labels {
  return typeof url === "string" && URL.canParse(url) ? { "server.address": new URL(url).host } : {};
}

const contextOf = (values: ReadonlyMap<symbol, unknown>): TracingContext => ({
  getValue: key => values.get(key),
  setValue: (key, value) => contextOf(new Map(values).set(key, value)),
  deleteValue: key => contextOf(new Map([...values].filter(([other]) => other !== key))),
});
