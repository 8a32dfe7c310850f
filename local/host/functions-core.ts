// Development tool: replaces `@azure/functions-core`, the module that only Azure's worker provides.
import Module from "node:module";
import type { FunctionCallback, FunctionMetadata, HostLog, LogLevel, ProgrammingModel } from "./core-contract.ts";

export interface RegisteredFunction {
  readonly metadata: FunctionMetadata;
  readonly callback: FunctionCallback;
}

const hookNames = ["appTerminate", "preInvocation"] as const;
export type HookName = (typeof hookNames)[number];

type HookCallback = (context: object) => unknown;

/** The functions and hooks that the app has registered, and the sink of the library's log lines. */
export interface FunctionsCore {
  readonly functions: ReadonlyMap<string, RegisteredFunction>;
  programmingModel(): ProgrammingModel | undefined;
  /** Runs the hooks of a name one after another, in the order of their registration, until one throws. */
  runHooks(name: HookName, context: object): Promise<void>;
  /** The data that all hooks of the app share. */
  readonly appHookData: Record<string, unknown>;
  logTo(log: HostLog): void;
  /** Removes all functions and hooks with their data, so that another app can register its own. Call it after the host has stopped. */
  unregisterAll(): void;
}

/** The library keeps the first core that it finds until the process ends, so all loads of this file share one. */
const coreKey: unique symbol = Symbol.for("local-functions-host.core") as never;

/**
 * Provides the module `@azure/functions-core`, as Azure's worker does, and returns what is registered through it. Must be
 * called before the first `app.http()`. A second call returns the same core.
 */
export function installFunctionsCore(): FunctionsCore {
  const holder = globalThis as { [coreKey]?: FunctionsCore };
  const installed = holder[coreKey];
  if (installed !== undefined) return installed;
  const { core, api } = createCore();
  Module.prototype.require = new Proxy(Module.prototype.require, {
    apply: (target, self, args) => (args[0] === "@azure/functions-core" ? api : Reflect.apply(target, self, args)),
  });
  holder[coreKey] = core;
  return core;
}

function createCore() {
  const functions = new Map<string, RegisteredFunction>();
  const hooks = new Map<string, HookCallback[]>(hookNames.map(name => [name, []]));
  let model: ProgrammingModel | undefined;
  let sink: HostLog = () => {};

  const api = {
    version: "3.9.1",
    hostVersion: "4.1037.0",
    registerFunction(metadata: FunctionMetadata, callback: FunctionCallback) {
      if (functions.has(metadata.name)) {
        throw systemError(Error, `A function with id "${metadata.name}" has already been registered.`);
      }
      functions.set(metadata.name, { metadata, callback });
    },
    setProgrammingModel: (next: ProgrammingModel) => {
      model = next;
    },
    getProgrammingModel: () => model,
    registerHook(name: string, callback: HookCallback) {
      const list = hooks.get(name);
      if (list === undefined) throw systemError(RangeError, `Unrecognized hook "${name}"`);
      list.push(callback);
    },
    log: (level: LogLevel, category: "user" | "system", message: string) => sink(level, `Worker.${category}`, message),
  };

  const core: FunctionsCore = {
    functions,
    programmingModel: () => model,
    async runHooks(name, context) {
      for (const hook of hooks.get(name) ?? []) await hook(context);
    },
    appHookData: {},
    logTo: log => {
      sink = log;
    },
    unregisterAll: () => {
      functions.clear();
      for (const list of hooks.values()) list.splice(0);
      for (const name of Object.keys(core.appHookData)) delete core.appHookData[name];
      sink = () => {};
    },
  };
  return { core, api };
}

/** Returns an error with the property by which the library recognises errors of the host. */
const systemError = (kind: ErrorConstructor | RangeErrorConstructor, message: string) =>
  Object.assign(new kind(message), { isAzureFunctionsSystemError: true });
