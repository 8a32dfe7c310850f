import type { Fault } from "../../../../lib/platform/fault.ts";
import { type Api, routeParts } from "../../../../lib/platform/http/api.ts";
import type { Call, Reply } from "../../../../lib/platform/http/call.ts";
import { type Endpoint, endpoint } from "../../../../lib/platform/http/endpoint.ts";
import { bodyLimitBytes } from "../../../../lib/platform/http/read-body.ts";
import { type ServeOptions, serve } from "../../../../lib/platform/http/serve.ts";
import { createLog } from "../../../../lib/platform/log.ts";
import { type Route as HostRoute, parseRoute, routedPath } from "../../../../local/host/http/route.ts";

/** An API whose refusals show the fault as it is. */
export const sampleApi = (sample: Endpoint<object>, input: Api<object>["input"] = "json"): Api<object> => ({
  name: "connector",
  title: "Sample",
  input,
  ignoresUnknown: input === "fields",
  bodyLimitBytes,
  refuse: (fault: Fault): Reply => ({
    status: statuses[fault.kind as keyof typeof statuses] ?? 599,
    headers: fault.retryAfterSeconds === undefined ? {} : { "retry-after": String(fault.retryAfterSeconds) },
    body: { kind: fault.kind, message: fault.message, problems: fault.problems },
  }),
  endpoints: { sample },
});

const statuses = {
  invalid: 400,
  unauthenticated: 401,
  not_found: 404,
  length_required: 411,
  too_large: 413,
  unsupported_media: 415,
  internal: 500,
  unavailable: 503,
};

export interface Sent {
  readonly method?: string;
  readonly path?: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string | Uint8Array;
}

export interface Served {
  /** Sends to the endpoint's first route as the host would hand it over. */
  send(sent?: Sent): Promise<Reply>;
  /** Every line that was logged, parsed. */
  readonly lines: Readonly<Record<string, unknown>>[];
}

/** The endpoint served as in Azure, except for what `serving` says. */
export function served(
  sample: Endpoint<object>,
  { input, ...serving }: Partial<ServeOptions<object>> & { readonly input?: Api<object>["input"] } = {},
): Served {
  const lines: Readonly<Record<string, unknown>>[] = [];
  const log = createLog((_, line) => lines.push(JSON.parse(line)));
  const [route = "GET /"] = sample.routes;
  const { method, template } = routeParts(route, "");
  const identify = async () => ({ caller: { kind: "tenant", application: "an-app" }, session: "a-session" }) as const;
  const answer = serve(sampleApi(sample, input), sample, template, {
    deps: {},
    identify,
    log,
    strictTransport: true,
    trustedProxies: 1,
    ...serving,
  });
  return {
    lines,
    send: ({ path = template, ...sent } = {}) => answer(callOf({ method, path, ...sent }, parseRoute(template))),
  };
}

/** A request as the host hands it over. A JSON body unless the headers say otherwise. */
function callOf({ method = "POST", path = "", headers = {}, body }: Sent, route: HostRoute): Call {
  const bytes = typeof body === "string" ? new TextEncoder().encode(body) : body;
  const ofBody =
    bytes === undefined ? {} : { "content-type": "application/json", "content-length": String(bytes.byteLength) };
  return {
    method,
    url: new URL(`http://127.0.0.1/${path}`),
    params: route.match(routedPath(`/${path.split("?")[0]}`)) ?? {},
    headers: new Headers({ ...ofBody, ...headers }),
    invocationId: "the-invocation",
    body: bytes ?? new Uint8Array(),
  };
}

/** An endpoint that returns its input unless the test gives a handler. */
export const echo = (definition: Partial<Parameters<typeof endpoint>[0]> = {}): Endpoint<object> =>
  endpoint({
    routes: ["POST /things/{id}"],
    access: "caller",
    summary: "Echo",
    answers: { 200: { description: "What was given." } },
    handle: (input: unknown) => ({ status: 200, body: input }),
    ...definition,
  } as Parameters<typeof endpoint<object>>[0]);
