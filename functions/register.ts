import { registerHttp, registerTimer } from "../lib/azure/functions.ts";
import type { Call, Reply } from "../lib/http/call.ts";
import type { Job } from "../lib/http/job.ts";
import { httpFunctions } from "../lib/http/register.ts";
import { type Serving, serve } from "../lib/http/serve.ts";
import type { Surface } from "../lib/http/surface.ts";
import { type Log, withLogFields } from "../lib/log.ts";

/** Registers every endpoint of a surface. */
export function registerSurface<D>(surface: Surface<D>, prefix: string, serving: Serving<D>): void {
  for (const { name, template, parts, endpoint } of httpFunctions(surface, prefix)) {
    const answers = new Map(parts.map(route => [route.method, serve(surface, endpoint, route, serving)]));
    const methods = [...answers.keys()];
    const answer = (call: Call): Promise<Reply> => {
      const ofMethod = answers.get(call.method);
      return ofMethod === undefined ? Promise.resolve({ status: 404 }) : ofMethod(call);
    };
    registerHttp(name, { template, methods, answer });
  }
}

/** Registers every job as a timer. Its report is one log line; a failure is logged whole and given to the host. */
export function registerJobs<D>(jobs: Readonly<Record<string, Job<D>>>, deps: D, log: Log): void {
  for (const [name, job] of Object.entries(jobs)) {
    registerTimer(name, job.schedule, invocationId =>
      withLogFields({ job: name, invocationId }, async () => {
        try {
          log.info("job", { ...(await job.run(deps)), trigger: "timer" });
        } catch (error) {
          log.error("job_failed", { error });
          throw error;
        }
      }),
    );
  }
}

/** Registers `GET /health`, public and without data (decision G11). */
export function registerHealth(healthy: () => Promise<boolean>): void {
  registerHttp("health", {
    template: "health",
    methods: ["GET"],
    answer: async () => {
      const headers = { "cache-control": "no-store", "x-content-type-options": "nosniff" };
      return (await healthy())
        ? { status: 200, headers, body: { status: "ok" } }
        : { status: 503, headers: { ...headers, "retry-after": "10" }, body: { status: "unavailable" } };
    },
  });
}

/** Registers the routes of a surface so that each refuses: the settings are wrong (decision G14). */
export function registerRefusing<D>(surface: Surface<D>, prefix: string): void {
  for (const { name, template, parts } of httpFunctions(surface, prefix)) {
    registerHttp(name, { template, methods: parts.map(({ method }) => method), answer: refuseAll });
  }
}

const refuseAll = async (): Promise<Reply> => ({
  status: 503,
  headers: { "cache-control": "no-store" },
  body: { error: "The service is not configured." },
});
