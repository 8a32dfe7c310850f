import { app, type HttpRequest, type HttpResponse, type InvocationContext, type Timer } from "@azure/functions";
import type { Call, Cookie, Reply } from "../http/call.ts";
import type { WriteLine } from "../log.ts";
import { acceptAnyHeaderValue } from "./accept-any-header-value.ts";
import { plainResponse } from "./plain-response.ts";

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
    methods: [...methods] as ("GET" | "POST" | "DELETE")[],
    authLevel,
    handler: async (request, context) => toResponse(await answer(toCall(request, context))),
  });
  acceptAnyHeaderValue();
}

/** Registers a timer function. @param schedule NCRONTAB with six fields, UTC */
export function registerTimer(name: string, schedule: string, run: (invocationId: string) => Promise<void>): void {
  app.timer(name, {
    schedule,
    handler: (_timer: Timer, context: InvocationContext) => run(context.invocationId),
  });
}

/** Runs `close` before the host stops the app. */
export function onTerminate(close: () => Promise<void>): void {
  app.hook.appTerminate(close);
}

const toCall = (request: HttpRequest, context: InvocationContext): Call => ({
  method: request.method,
  url: new URL(request.url),
  params: request.params,
  headers: request.headers,
  invocationId: context.invocationId,
  body: async () => new Uint8Array(await request.arrayBuffer()),
});

const toResponse = ({ status, headers = {}, body, cookies }: Reply): HttpResponse =>
  plainResponse({
    status,
    headers: body === undefined ? headers : { "content-type": "application/json; charset=utf-8", ...headers },
    body: body === undefined ? undefined : JSON.stringify(body),
    cookies: cookies?.map(toCookie),
  });

const toCookie = ({ maxAge, ...cookie }: Cookie) => ({ ...cookie, ...(maxAge === undefined ? {} : { maxAge }) });

/** The console is what the host collects, also outside an invocation. */
export const writeToHost: WriteLine = (level, line) => console[level](line);
