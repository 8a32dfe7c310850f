import { registerHttp, registerTimer } from "../lib/platform/azure/functions-app.ts";
import { Fault } from "../lib/platform/fault.ts";
import { type Api, httpFunctions } from "../lib/platform/http/api.ts";
import type { Call, Reply } from "../lib/platform/http/call.ts";
import { type Job, runJob } from "../lib/platform/http/job.ts";
import { type ResponseOptions, respond } from "../lib/platform/http/respond.ts";
import { type ServeOptions, serve } from "../lib/platform/http/serve.ts";
import { serveTask, type Task, taskTemplate } from "../lib/platform/http/task.ts";
import { type Log, withLogFields } from "../lib/platform/log.ts";

/**
 * Registers every endpoint of an API.
 * @param preflight handles OPTIONS on every template. If absent, OPTIONS is not registered
 */
export function registerApi<D, S>(
  api: Api<D, S>,
  prefix: string,
  serving: ServeOptions<D, S>,
  preflight?: (call: Call) => Promise<Reply>,
): void {
  for (const { name, template, parts, endpoint } of httpFunctions(api, prefix)) {
    const answers = new Map(parts.map(route => [route.method, serve(api, endpoint, route, serving)]));
    if (preflight !== undefined) answers.set("OPTIONS", preflight);
    const answer = (call: Call): Promise<Reply> => {
      const ofMethod = answers.get(call.method);
      return ofMethod === undefined ? Promise.resolve({ status: 404 }) : ofMethod(call);
    };
    registerHttp(name, { template, methods: [...answers.keys()], answer });
  }
}

/** Registers every job as a timer. A failed job also fails its invocation. */
export function registerJobs<D>(jobs: Readonly<Record<string, Job<D>>>, deps: D, log: Log): void {
  for (const [name, job] of Object.entries(jobs)) {
    registerTimer(name, job.schedule, invocationId =>
      withLogFields({ invocationId }, async () => void (await runJob(name, "timer", log, () => job.run(deps)))),
    );
  }
}

/**
 * Registers every maintenance task of a service as a function that requires the host's master key: `backUp` of the
 * connector is `connectorBackUp` (G13).
 */
export function registerTasks<D>(
  service: ServiceName,
  tasks: Readonly<Record<string, Task<D>>>,
  serving: ResponseOptions & { readonly deps: D; readonly log: Log },
): void {
  for (const [name, task] of Object.entries(tasks)) registerTask(service, name, serveTask(name, task, serving));
}

type ServiceName = "auth" | "connector";

/** Registers a task's function: `connectorBackUp` for `backUp` of the connector. */
const registerTask = (service: ServiceName, name: string, answer: (call: Call) => Promise<Reply>): void =>
  registerHttp(`${service}${name.charAt(0).toUpperCase()}${name.slice(1)}`, {
    template: taskTemplate(service, name),
    methods: ["POST"],
    authLevel: "admin",
    answer,
  });

/**
 * Registers `GET /health`, which is public and returns no data (G11), and `HEAD`, with which Azure Front Door and many
 * monitors probe. The host leaves out the body of a response to `HEAD`.
 */
export function registerHealth(healthy: () => Promise<boolean>, options: ResponseOptions): void {
  const answer = (call: Call) =>
    respond(call, options, async () =>
      (await healthy())
        ? { status: 200, body: { status: "ok" } }
        : { status: 503, headers: { "retry-after": "10" }, body: { status: "unavailable" } },
    );
  registerHttp("health", { template: "health", methods: ["GET", "HEAD"], answer });
}

export interface RefusalOptions extends ResponseOptions {
  /** Method and template of every route that is registered so far, in lower case. */
  readonly routes: Set<string>;
}

/**
 * Registers the routes of an API so that each responds 503, because the settings are invalid (G14). Leaves out routes
 * that another API has registered, which is the case if the invalid settings are paths: the host would report a
 * conflict for each of them.
 */
export function registerRefusing<D, S>(api: Api<D, S>, prefix: string, { routes, ...options }: RefusalOptions): void {
  const refusal = new Fault("unavailable", "The service is not configured.", { retryAfterSeconds: 60 });
  const answer = (call: Call) => respond(call, options, async () => api.refuse(refusal));
  for (const { name, template, parts } of httpFunctions(api, prefix)) {
    const route = (method: string) => `${method} ${template}`.toLowerCase();
    const methods = parts.map(({ method }) => method).filter(method => !routes.has(route(method)));
    for (const method of methods) routes.add(route(method));
    if (methods.length > 0) registerHttp(name, { template, methods, answer });
  }
}

/** Registers the tasks of a service so that each responds 503, because the settings are invalid. */
export function registerRefusingTasks(
  service: ServiceName,
  tasks: Readonly<Record<string, unknown>>,
  options: ResponseOptions,
): void {
  const reply = { status: 503, headers: { "retry-after": "60" }, body: { error: "The service is not configured." } };
  for (const name of Object.keys(tasks)) registerTask(service, name, call => respond(call, options, async () => reply));
}
