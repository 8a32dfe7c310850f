import { type Instrumenter, type TracingContext, type TracingSpan, useInstrumenter } from "@azure/core-tracing";
import { type ActiveSpanHandle, errorName, type Labels, startSpan } from "../../telemetry.ts";

/**
 * Makes a client span of every HTTP try of the Azure SDKs, named by the SDK's operation that it belongs to. Of what the SDKs tell only
 * method, host and status are kept: paths and queries hold keys of rows and names. No headers are added to requests.
 */
export function traceSdkCalls(): void {
  useInstrumenter(instrumenter);
}

const operation = Symbol("operation");

const instrumenter: Instrumenter = {
  startSpan(name, { spanKind, spanAttributes = {}, tracingContext = contextOf(new Map()) }) {
    const isTry = spanKind === "client" && "http.method" in spanAttributes;
    if (!isTry) return { span: noopSpan, tracingContext: tracingContext.setValue(operation, name) };
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

/** An operation as a whole is told by its tries. */
const noopSpan: TracingSpan = {
  setStatus: () => {},
  setAttribute: () => {},
  recordException: () => {},
  isRecording: () => false,
  end: () => {},
};

/** Labels by the names that the SDKs use for them; all others are left out. */
const keptLabels: Readonly<Record<string, string>> = {
  "http.status_code": "http.response.status_code",
  "az.namespace": "az.namespace",
};

function spanOf(span: ActiveSpanHandle): TracingSpan {
  let failure: string | undefined;
  let status: string | undefined;
  return {
    setStatus: told => {
      if (told.status === "error") failure = told.error instanceof Error ? errorName(told.error) : "error";
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
