import { app, type HttpFunctionOptions, type InvocationContext, type PreInvocationContext } from "@azure/functions";
import { type ActiveSpanHandle, inTrace, type Tracer } from "../telemetry.ts";

/**
 * Runs every invocation in the host's trace, or in a new one if the host has none. Declares that this process sends its
 * log events itself: otherwise the host would send them again. Call it before any function is registered.
 * @param flush sends all queued data; the platform may stop the machine at any moment after a timer's run
 */
export function traceInvocations(tracer: Tracer, flush: () => Promise<void>): void {
  app.setup({ capabilities: { WorkerOpenTelemetryEnabled: true } });
  app.hook.preInvocation(before => {
    const { functionHandler, invocationContext } = before;
    before.functionHandler = async (...args: Parameters<typeof functionHandler>) => {
      const { name, labels, isTimer } = describe(before);
      const traceParent = invocationContext.traceContext?.traceParent;
      try {
        return await inTrace(tracer, { name, labels, traceParent }, async span => {
          const result: unknown = await functionHandler(...args);
          labelStatus(span, result);
          return result;
        });
      } finally {
        if (isTimer) await flush();
      }
    };
  });
}

interface InvocationSpan {
  readonly name: string;
  readonly labels: Readonly<Record<string, string>>;
  readonly isTimer: boolean;
}

/** Returns the span's name and labels: the route's template, never the URL. */
function describe({ invocationContext: { functionName, options }, inputs }: PreInvocationContext): InvocationSpan {
  const { trigger } = options as InvocationContext["options"];
  if (trigger.type !== "httpTrigger") {
    return { name: `timer ${functionName}`, labels: { "faas.name": functionName }, isTimer: true };
  }
  const { route = functionName } = trigger as unknown as Pick<HttpFunctionOptions, "route">;
  const method = (inputs[0] as { readonly method?: string } | undefined)?.method ?? "";
  const labels = { "faas.name": functionName, "http.request.method": method, "http.route": `/${route}` };
  return { name: `${method} /${route}`, labels, isTimer: false };
}

/** Labels the span with the status. A 5xx is a failure; a refusal is not. */
function labelStatus(span: ActiveSpanHandle, result: unknown): void {
  const status = (result as { readonly status?: unknown } | undefined)?.status;
  if (typeof status !== "number") return;
  span.label({ "http.response.status_code": status });
  if (status >= 500) span.end(String(status));
}
