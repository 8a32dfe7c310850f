import * as z from "zod";
import { Fault, type FaultKind } from "../fault.ts";
import { type Log, withLogFields } from "../log.ts";
import { type AnswerOptions, answerCall } from "./answer.ts";
import type { Call, Reply } from "./call.ts";
import { problems } from "./input/problems.ts";
import { decode, parseJson, readBytes } from "./input/read-body.ts";

/**
 * Maintenance that an administrator starts inside the network (decisions G8, G13). `run` returns its report, which is logged
 * and answered; it throws Fault for what it refuses.
 */
export interface Task<D, I = unknown> {
  readonly input: z.ZodType<I>;
  run(input: I, deps: D): Promise<Readonly<Record<string, unknown>>>;
}

/** Binds a task's input to its schema. */
export const task = <D, I>(value: Task<D, I>): Task<D> => value as Task<D>;

/** For tasks that need to be told nothing. */
export const noInput = z.strictObject({});

/** The path of a task's function: `rotateKeys` of the connector lies at `maintenance/connector/rotate-keys`. */
export const taskTemplate = (wing: string, name: string): string =>
  `maintenance/${wing}/${name.replace(/[A-Z]/g, letter => `-${letter.toLowerCase()}`)}`;

/** The platform says of such a call only that it had the host's master key. */
const caller = { callerKind: "master_key" };

/**
 * Answers a task's function. Its input is the JSON body; none is an empty object. The report comes back as `{data}`, a refusal
 * as `{error}` with the wrong fields. Nobody waits when the host's admin endpoint started it, so everything is in the log too.
 */
export function serveTask<D>(
  name: string,
  { input, run }: Task<D>,
  { deps, log, ...options }: AnswerOptions & { readonly deps: D; readonly log: Log },
): (call: Call) => Promise<Reply> {
  return call =>
    answerCall(call, options, () =>
      withLogFields({ task: name, ...caller }, async () => {
        try {
          const parsed = input.safeParse(await readInput(call));
          if (!parsed.success) {
            throw new Fault("invalid", "The input is not valid.", { problems: problems(parsed.error) });
          }
          log.info("task_started", {});
          const report = await run(parsed.data, deps);
          log.info("task", report);
          return { status: 200, body: { data: report } };
        } catch (error) {
          return refused(error, log);
        }
      }),
    );
}

async function readInput(call: Call): Promise<unknown> {
  const bytes = await readBytes(call);
  return bytes.byteLength === 0 ? {} : parseJson(decode(bytes));
}

function refused(error: unknown, log: Log): Reply {
  if (!(error instanceof Fault) || error.kind === "internal") {
    log.error("task_failed", { error });
    return { status: 500, body: { error: "Internal error." } };
  }
  const { kind, message, problems: fields, retryAfter } = error;
  log.warn("task_refused", { error });
  return {
    status: statusOf[kind],
    headers: retryAfter === undefined ? {} : { "retry-after": String(Math.max(1, Math.ceil(retryAfter))) },
    body: { error: message, ...(fields.length > 0 && { fields }) },
  };
}

/** Status of every refusal of a task. */
const statusOf: Readonly<Record<FaultKind, number>> = {
  invalid: 400,
  unauthenticated: 401,
  forbidden: 403,
  not_found: 404,
  conflict: 409,
  length_required: 411,
  too_large: 413,
  unsupported_media: 415,
  throttled: 429,
  internal: 500,
  delivery_refused: 502,
  idp_refused: 502,
  unavailable: 503,
};
