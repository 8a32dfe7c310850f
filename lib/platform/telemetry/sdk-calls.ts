import { type Instrumenter, type TracingContext, type TracingSpan, useInstrumenter } from "@azure/core-tracing";
import { type ActiveSpanHandle, errorName, type Labels, startSpan } from "../telemetry.ts";

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
