// Development tool: one invocation with the same steps as Azure's worker.
import { randomUUID } from "node:crypto";
import type { CoreInvocationContext, HostLog, InvocationResponse, RpcInput } from "./core-contract.ts";
import type { FunctionsCore } from "./functions-core.ts";
import type { ServedFunction } from "./served-functions.ts";

/** Runs a function and its hooks. Rejects with the error of the function, of a hook or of the time limit. */
export type Invoke = (served: ServedFunction, input: RpcInput, reason: string) => Promise<InvocationResponse>;

export const createInvoke =
  (core: FunctionsCore, log: HostLog): Invoke =>
  async (served, input, reason) => {
    const { name } = served;
    const category = `Function.${name}`;
    const invocationId = randomUUID();
    const started = performance.now();
    const ended = (outcome: string) =>
      `Executed 'Functions.${name}' (${outcome}, Id=${invocationId}, Duration=${Math.round(performance.now() - started)}ms)`;
    log("information", category, `Executing 'Functions.${name}' (Reason='${reason}', Id=${invocationId})`);
    try {
      const response = await invokeOnce(core, served, contextOf(served, input, invocationId, log));
      log("information", category, ended("Succeeded"));
      return response;
    } catch (error) {
      log("error", category, `${ended("Failed")} ${error instanceof Error ? error.stack : String(error)}`);
      throw error;
    }
  };

const contextOf = (
  { name, registered, inputName }: ServedFunction,
  input: RpcInput,
  invocationId: string,
  log: HostLog,
): CoreInvocationContext => ({
  invocationId,
  metadata: registered.metadata,
  request: {
    inputData: [{ name: inputName, data: input }],
    triggerMetadata: {},
    traceContext: { traceParent: "", traceState: "" },
  },
  log: (level, kind, message) => log(level, kind === "user" ? `Function.${name}.User` : `Function.${name}`, message),
});

async function invokeOnce(core: FunctionsCore, { registered }: ServedFunction, context: CoreInvocationContext) {
  const model = await core.programmingModel()?.getInvocationModel(context);
  if (model === undefined) throw new Error("no programming model is set");
  const { context: invocationContext, inputs } = await model.getArguments();
  const before = {
    hookData: {},
    appHookData: core.appHookData,
    invocationContext,
    inputs,
    functionCallback: registered.callback,
  };
  context.state = "preInvocationHooks";
  await core.runHooks("preInvocation", before);
  context.state = "invocation";
  const result = await model.invokeFunction(invocationContext, before.inputs, before.functionCallback);
  context.state = undefined;
  return await model.getResponse(invocationContext, result);
}
