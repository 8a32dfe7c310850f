import * as z from "zod";
import { Fault } from "../fault.ts";
import { addLogFields, type Log } from "../log.ts";
import { type Call, faultStatus, type Reply, type ResponseOptions, respond, retryAfterHeader } from "./call.ts";
import { problemsOf, unknownParameters } from "./problems.ts";
import { readOptionalJson } from "./read-body.ts";
import { readQuery } from "./read-fields.ts";

/**
 * A maintenance task, which an administrator starts from inside the network (G13, docs/operate.md). `run` returns a
 * report, which is logged and sent, or throws Fault.
 */
export interface Task<D, I = unknown> {
  readonly input: z.ZodType<I>;
  run(input: I, deps: D): Promise<object>;
}

/** Returns the task with its input type erased, so that tasks fit in one record. */
export const task = <D, I>(value: Task<D, I>): Task<D> => value as Task<D>;

/** Input schema of tasks without input. */
export const noInput = z.strictObject({});

/** Returns the route template of a task: `maintenance/connector/rotate-keys` for `rotateKeys` of the connector. */
export const taskTemplate = (service: string, name: string): string =>
  `maintenance/${service}/${name.replace(/[A-Z]/g, letter => `-${letter.toLowerCase()}`)}`;

export interface TaskOptions<D> extends ResponseOptions {
  readonly deps: D;
  readonly log: Log;
}

/**
 * Returns the HTTP handler of a task. The input is the JSON body; an empty body is an empty object. A query parameter is
 * refused, because `?dry_run=true` would be ignored. Responds with `{data: report}` or `{error, fields}`. Logs the report
 * too, because the caller of a long task may have left before its response. Logs only the length of lists, because they
 * have no bound.
 */
export function serveTask<D>(
  name: string,
  { input, run }: Task<D>,
  { deps, log, ...options }: TaskOptions<D>,
): (call: Call) => Promise<Reply> {
  return call =>
    respond(call, options, async () => {
      // The Functions host does not identify the caller beyond the master key.
      addLogFields({ task: name, callerKind: "master_key" });
      try {
        const parsed = input.safeParse(readOptionalJson(call));
        const problems = [
          ...unknownParameters(undefined, readQuery(call.url)),
          ...(parsed.success ? [] : problemsOf(parsed.error)),
        ];
        if (!parsed.success || problems.length > 0) throw new Fault("invalid", "The input is not valid.", { problems });
        log.info("task_started", {});
        const report = await run(parsed.data, deps);
        const counts = Object.entries(report).map(([name, value]) => [
          name,
          Array.isArray(value) ? value.length : value,
        ]);
        log.info("task", Object.fromEntries(counts));
        return { status: 200, body: { data: report } };
      } catch (error) {
        if (!(error instanceof Fault) || error.kind === "internal") {
          log.error("task_failed", { error });
          return { status: 500, body: { error: "Internal error." } };
        }
        const { kind, message, problems: fields } = error;
        log.warn("task_refused", { error });
        const body = { error: message, ...(fields.length > 0 && { fields }) };
        return { status: faultStatus[kind], headers: retryAfterHeader(error), body };
      }
    });
}
