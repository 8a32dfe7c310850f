import { app, type HttpHandler, type HttpMethod, type InvocationContext, type Timer } from "@azure/functions";
import type { Call, Reply } from "../http/call.ts";
import { invokeWithCall } from "./http-invocation.ts";

/** Registers an HTTP function. @param template without a leading slash, which would stop the whole app */
export function registerHttp(
  name: string,
  {
    template,
    methods,
    authLevel = "anonymous",
    answer,
  }: {
    template: string;
    methods: readonly string[];
    /** `admin` requires the host's master key. */
    authLevel?: "anonymous" | "admin";
    answer: (call: Call) => Promise<Reply>;
  },
): void {
  app.http(name, {
    route: template,
    methods: [...methods] as HttpMethod[],
    authLevel,
    // Called with a `Call`: see `invokeWithCall`.
    handler: answer as unknown as HttpHandler,
  });
  invokeWithCall(name);
}

/** Registers a timer function. @param schedule NCRONTAB with six fields, UTC */
export function registerTimer(name: string, schedule: string, run: (invocationId: string) => Promise<void>): void {
  app.timer(name, {
    schedule,
    handler: (_timer: Timer, context: InvocationContext) => run(context.invocationId),
  });
}

/**
 * Runs `close` before the host stops the app. In Azure also at SIGTERM: when the platform removes an instance, it sends
 * only this signal, and Node would end at once.
 */
export function onTerminate(close: () => Promise<void>, { inAzure }: { readonly inAzure: boolean }): void {
  let closed: Promise<void> | undefined;
  const closeOnce = () => {
    closed ??= close();
    return closed;
  };
  app.hook.appTerminate(closeOnce);
  if (inAzure) process.once("SIGTERM", () => void closeOnce().finally(() => process.exit()));
}
