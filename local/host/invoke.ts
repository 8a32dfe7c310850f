// Development tool: one invocation with the same steps as Azure's worker.
import { randomUUID } from "node:crypto";
import { setTimeout as delay } from "node:timers/promises";
import type { CoreInvocationContext, HostLog, InvocationResponse, RpcInput } from "./core-contract.ts";
import type { FunctionsCore } from "./functions-core.ts";
import type { ServedFunction } from "./served-functions.ts";

/** Runs a function and its hooks. Rejects with the error of the function, of a hook or of the time limit. */
export type Invoke = (served: ServedFunction, input: RpcInput, reason: string) => Promise<InvocationResponse>;

interface InvokeOptions {
  readonly log: HostLog;
  /** Time limit of an invocation in milliseconds; undefined for none. */
  readonly timeout: number | undefined;
}

export function createInvoke(core: FunctionsCore, { log, timeout }: InvokeOptions): Invoke {
  return async (served, input, reason) => {
    const { name } = served;
    const category = `Function.${name}`;
    const invocationId = randomUUID();
    const started = performance.now();
    const ended = (outcome: string) =>
      `Executed 'Functions.${name}' (${outcome}, Id=${invocationId}, Duration=${Math.round(performance.now() - started)}ms)`;
    log("information", category, `Executing 'Functions.${name}' (Reason='${reason}', Id=${invocationId})`);
    try {
      const response = await withRetries(served, retryContext =>
        within(timeout, name, invokeOnce(core, served, contextOf(served, input, invocationId, retryContext, log))),
      );
      log("information", category, ended("Succeeded"));
      return response;
    } catch (error) {
      log("error", category, `${ended("Failed")} ${error instanceof Error ? error.stack : String(error)}`);
      throw error;
    }
  };
}

type RetryContext = { readonly retryCount: number; readonly maxRetryCount: number };

const contextOf = (
  { name, registered, inputName }: ServedFunction,
  input: RpcInput,
  invocationId: string,
  retryContext: RetryContext | undefined,
  log: HostLog,
): CoreInvocationContext => ({
  invocationId,
  metadata: registered.metadata,
  request: {
    inputData: [{ name: inputName, data: input }],
    triggerMetadata: {},
    traceContext: { traceParent: "", traceState: "" },
    ...(retryContext === undefined ? {} : { retryContext }),
  },
  log: (level, kind, message) => log(level, kind === "user" ? `Function.${name}.User` : `Function.${name}`, message),
});

async function invokeOnce(core: FunctionsCore, { registered }: ServedFunction, context: CoreInvocationContext) {
  const model = await core.programmingModel()?.getInvocationModel(context);
  if (model === undefined) throw new Error("no programming model is set");
  const { context: invocationContext, inputs } = await model.getArguments();
  const shared = { hookData: {}, appHookData: core.appHookData, invocationContext };

  const before = { ...shared, inputs, functionCallback: registered.callback };
  context.state = "preInvocationHooks";
  await core.runHooks("preInvocation", before);

  const after = { ...shared, inputs: before.inputs, result: null as unknown, error: null as unknown };
  context.state = "invocation";
  try {
    after.result = await model.invokeFunction(invocationContext, before.inputs, before.functionCallback);
  } catch (error) {
    after.error = error;
  }
  context.state = "postInvocationHooks";
  await core.runHooks("postInvocation", after);
  context.state = undefined;

  if (after.error !== null && after.error !== undefined) throw after.error;
  return await model.getResponse(invocationContext, after.result);
}

/** At the time limit the real host restarts its worker; this host ignores the outcome of the run. */
async function within<T>(limit: number | undefined, name: string, work: Promise<T>): Promise<T> {
  if (limit === undefined) return work;
  const { promise: tooLong, reject } = Promise.withResolvers<never>();
  const message = `Timeout value of ${limit / 1000} s exceeded by function 'Functions.${name}'.`;
  const timer = setTimeout(() => reject(new Error(message)), limit);
  try {
    return await Promise.race([work, tooLong]);
  } finally {
    clearTimeout(timer);
  }
}

async function withRetries<T>(
  { registered }: ServedFunction,
  run: (context: RetryContext | undefined) => Promise<T>,
): Promise<T> {
  const options = registered.metadata.retryOptions;
  if (options?.retryStrategy !== "fixedDelay") return run(undefined);
  for (let retryCount = 0; ; retryCount++) {
    try {
      return await run({ retryCount, maxRetryCount: options.maxRetryCount });
    } catch (error) {
      // -1 means unlimited retries.
      if (retryCount === options.maxRetryCount) throw error;
      await delay((options.delayInterval?.seconds ?? 0) * 1000);
    }
  }
}
