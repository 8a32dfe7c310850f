// The part of the Functions host that is a process of its own in Azure: it reads HTTP, finds the function and limits the calls. See README.md.
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import type { FunctionMetadata, InvocationResponse, RpcInput } from "../../local/host/core-contract.ts";
import { installFunctionsCore } from "../../local/host/functions-core.ts";
import { startHost } from "../../local/host/host.ts";

/** From the worker: first its functions, then the result of each invocation. */
export type ToFront =
  | { readonly functions: readonly FunctionMetadata[] }
  | { readonly id: number; readonly response?: InvocationResponse };

/** To the worker: first the address, then each invocation. */
export type ToWorker =
  | { readonly url: string }
  | {
      readonly id: number;
      readonly name: string;
      readonly input: RpcInput;
      readonly reason: string;
      /** Milliseconds since 1970. */
      readonly sentAt: number;
    };

const core = installFunctionsCore();
const waiting = new Map<number, PromiseWithResolvers<InvocationResponse>>();
let invocations = 0;

const send = (message: ToWorker) => process.send?.(message);

process.on("message", async (message: ToFront) => {
  if ("functions" in message) {
    await start(message.functions);
    return;
  }
  const invocation = waiting.get(message.id);
  waiting.delete(message.id);
  if (message.response === undefined) invocation?.reject(new Error("The function has failed."));
  else invocation?.resolve(message.response);
});

process.once("disconnect", () => process.exit(1));

async function start(functions: readonly FunctionMetadata[]): Promise<void> {
  const api = createRequire(import.meta.url)("@azure/functions-core");
  for (const metadata of functions) api.registerFunction(metadata, () => {});
  const hostJson = JSON.parse(readFileSync(new URL("../../host.json", import.meta.url), "utf8"));
  const { url } = await startHost(core, {
    port: 0,
    hostJson,
    invoke: ({ name }, input, reason) => {
      const id = invocations++;
      const invocation = Promise.withResolvers<InvocationResponse>();
      waiting.set(id, invocation);
      send({ id, name, input, reason, sentAt: performance.timeOrigin + performance.now() });
      return invocation.promise;
    },
  });
  send({ url });
}
