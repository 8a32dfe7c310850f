// Development tool: stands in for `@azure/functions-core`, the module that only Azure's worker provides.
import Module from "node:module";
import type { FunctionCallback, FunctionMetadata, HostLog, LogLevel, ProgrammingModel } from "./core-contract.ts";

export interface RegisteredFunction {
  readonly metadata: FunctionMetadata;
  readonly callback: FunctionCallback;
}

const hookNames = ["appStart", "appTerminate", "preInvocation", "postInvocation"] as const;
export type HookName = (typeof hookNames)[number];

type HookCallback = (context: object) => unknown;

/** What the app registered so far, and where the library's own log lines go. */
export interface FunctionsCore {
  readonly functions: ReadonlyMap<string, RegisteredFunction>;
  programmingModel(): ProgrammingModel | undefined;
  /** Runs the hooks of that name one after another in the order of their registration; the first throw ends it. */
  runHooks(name: HookName, context: object): Promise<void>;
  /** What all hooks of the app share. */
  readonly appHookData: Record<string, unknown>;
  logTo(log: HostLog): void;
}

/** The library keeps the first core it finds for the life of the process, so there is one, whoever loads this file. */
const coreKey: unique symbol = Symbol.for("local-functions-host.core") as never;

/**
 * Makes `require("@azure/functions-core")` answer, as Azure's worker does, and returns what is registered through it. To be
 * called before the first `app.http()` or the like; a second call returns the same core.
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
    Disposable: {
      from: (...parts: { dispose(): void }[]) => disposable(() => parts.forEach(part => void part.dispose())),
    },
    registerFunction(metadata: FunctionMetadata, callback: FunctionCallback) {
      if (functions.has(metadata.name)) {
        throw systemError(Error, `A function with id "${metadata.name}" has already been registered.`);
      }
      functions.set(metadata.name, { metadata, callback });
      return disposable(() => functions.delete(metadata.name));
    },
    setProgrammingModel: (next: ProgrammingModel) => {
      model = next;
    },
    getProgrammingModel: () => model,
    registerHook(name: string, callback: HookCallback) {
      const list = hooks.get(name);
      if (list === undefined) throw systemError(RangeError, `Unrecognized hook "${name}"`);
      list.push(callback);
      return disposable(() => list.splice(list.indexOf(callback), 1));
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
  };
  return { core, api };
}

const disposable = (end: () => unknown) => {
  let done = false;
  return {
    dispose() {
      if (!done) end();
      done = true;
    },
  };
};

/** The library tells its host's errors from the app's by this mark. */
const systemError = (kind: ErrorConstructor | RangeErrorConstructor, message: string) =>
  Object.assign(new kind(message), { isAzureFunctionsSystemError: true });
