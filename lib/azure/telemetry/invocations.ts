import { app, type HttpFunctionOptions, type InvocationContext, type PreInvocationContext } from "@azure/functions";
import { type ActiveSpanHandle, inTrace, type Tracer } from "../../telemetry.ts";

/**
 * Runs every invocation in a trace: the host's, or a new one where the host has none. The host is told that log events are sent by
 * this process, or it would send what it reads of them once more. Before any function is registered.
 * @param flush sends what is waiting; after a timer's run the platform may take the machine away at any moment
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

interface Described {
  readonly name: string;
  readonly labels: Readonly<Record<string, string>>;
  readonly isTimer: boolean;
}

/** By the template of the route, never by the address. */
function describe({ invocationContext: { functionName, options }, inputs }: PreInvocationContext): Described {
  const { trigger } = options as InvocationContext["options"];
  if (trigger.type !== "httpTrigger") {
    return { name: `timer ${functionName}`, labels: { "faas.name": functionName }, isTimer: true };
  }
  const { route = functionName } = trigger as unknown as Pick<HttpFunctionOptions, "route">;
  const method = (inputs[0] as { readonly method?: string } | undefined)?.method ?? "";
  const labels = { "faas.name": functionName, "http.request.method": method, "http.route": `/${route}` };
  return { name: `${method} /${route}`, labels, isTimer: false };
}

/** A 5xx is a failure; a refusal is the caller's. */
function labelStatus(span: ActiveSpanHandle, result: unknown): void {
  const status = (result as { readonly status?: unknown } | undefined)?.status;
  if (typeof status !== "number") return;
  span.label({ "http.response.status_code": status });
  if (status >= 500) span.end(String(status));
}
