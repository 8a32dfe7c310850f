// Development tool, not for production: an in-process stand-in for Azure's Functions host.
import { randomBytes } from "node:crypto";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { createAdmin } from "./admin.ts";
import { createSettings } from "./app-settings.ts";
import type { HostLog } from "./core-contract.ts";
import type { FunctionsCore } from "./functions-core.ts";
import { createMasterKeyCheck } from "./http/keys.ts";
import { defaultBodyLimit } from "./http/request.ts";
import { createRequestQueue } from "./http/request-queue.ts";
import { send } from "./http/response.ts";
import { createServe, refuseMalformed, refuseUnknownMethod } from "./http/serve.ts";
import { createInvoke, type Invoke } from "./invoke.ts";
import { servedFunctions } from "./served-functions.ts";
import { createTimer } from "./timers.ts";

export interface LocalHost {
  readonly url: string;
  readonly port: number;
  readonly masterKey: string;
  /** Names of all functions that can be called or started, disabled ones included. */
  readonly functions: readonly string[];
  /** Runs a timer now. Resolves when the run ends, rejects with its error. */
  run(functionName: string): Promise<void>;
  /** Timers with the time of their next scheduled run, the soonest first; disabled ones are left out. */
  nextRuns(): readonly { readonly name: string; readonly at: string }[];
  /** Closes the port at once, then awaits requests in flight, running timers and the app's terminate hooks. */
  stop(): Promise<void>;
}

export interface HostOptions {
  /** 0 for a free port. */
  readonly port: number;
  /** Of host.json, the part that has its effect here. The route prefix is always empty. */
  readonly hostJson?: { readonly extensions?: { readonly http?: { readonly maxOutstandingRequests?: number } } };
  /** Whether schedules run, by default true. `run()` works in both cases. */
  readonly timers?: boolean;
  /** Random if absent. */
  readonly masterKey?: string;
  /** Settings of the host, as for disabling functions; by default the environment of the process. */
  readonly env?: Readonly<Record<string, string | undefined>>;
  readonly log?: HostLog;
  /** Runs a function, such as in another process; by default in this one. */
  readonly invoke?: Invoke;
  /** Runs `answer`, which handles a request; used to log calls. */
  readonly observe?: <T extends { readonly status: number }>(
    request: IncomingMessage,
    answer: () => Promise<T>,
  ) => Promise<T>;
}

const address = "127.0.0.1";

/**
 * Serves the functions that are registered in `core`, on the loopback address only.
 *
 * @throws Error if the port is in use, or a route template or a schedule is invalid
 */
export async function startHost(core: FunctionsCore, options: HostOptions): Promise<LocalHost> {
  const { hostJson = {}, timers: timersRun = true, log = () => {} } = options;
  const { observe = (_, work) => work() } = options;
  const setting = createSettings(options.env ?? process.env);
  const masterKey = options.masterKey ?? randomBytes(32).toString("base64url");
  const bodyLimit = Number(setting("FUNCTIONS_REQUEST_BODY_SIZE_LIMIT") ?? defaultBodyLimit);
  core.logTo(log);
  const served = servedFunctions(core, { setting, log });
  const find = (name: string) => served.find(one => one.name.toLowerCase() === name.toLowerCase());

  /** The work that a stop waits for. */
  const running = new Set<Promise<unknown>>();
  const track = (work: Promise<unknown>): void => {
    const tracked: Promise<unknown> = work.catch(() => {}).finally(() => running.delete(tracked));
    running.add(tracked);
  };
  let stopped: Promise<void> | undefined;

  const invoke = options.invoke ?? createInvoke(core, log);
  const timers = new Map(
    served.filter(one => one.kind === "timer").map(one => [one.name, createTimer(one, { invoke, track })]),
  );
  const answer = createServe({
    functions: served.filter(one => one.kind === "http"),
    invoke,
    queue: createRequestQueue(hostJson.extensions?.http?.maxOutstandingRequests),
    hasMasterKey: createMasterKeyCheck(masterKey),
    bodyLimit,
    admin: createAdmin({
      find,
      bodyLimit,
      start: ({ name }) => {
        const timer = timers.get(name);
        if (timer !== undefined) track(timer.run("This function was programmatically called via the host APIs."));
        else log("error", `Function.${name}`, `Executed 'Functions.${name}' (Failed): An HttpRequest is required`);
      },
    }),
  });

  const respond = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    response.setHeader("server", "Kestrel");
    // This fails only if the caller disconnected while sending.
    const made = await observe(request, () => answer(request)).catch(() => undefined);
    if (made === undefined) {
      response.destroy();
      return;
    }
    if (stopped !== undefined) response.setHeader("connection", "close");
    await send(response, made);
  };

  // The real host's parser accepts control characters in values, bare line feeds, and a length together with chunks.
  const parserOptions = {
    maxHeaderSize: 32_768,
    keepAliveTimeout: 120_000,
    insecureHTTPParser: true,
    requireHostHeader: false,
  };
  const server = createServer(parserOptions, (request, response) => track(respond(request, response)));
  // The real host ignores unknown expectations.
  server.on("checkExpectation", (request, response) => track(respond(request, response)));
  server.on("clientError", refuseMalformed);
  server.on("connect", (_, socket) => refuseUnknownMethod(socket));

  const port = await listen(server, options.port);
  // Before the first request arrives, as on the real host.
  if (timersRun) for (const one of served) if (!one.disabled) timers.get(one.name)?.start();
  log(
    "information",
    "Host.Startup",
    `Host started on http://${address}:${port}: ${served.map(one => one.name).join(", ")}`,
  );

  const stop = async (): Promise<void> => {
    const closed = new Promise(resolve => server.close(resolve));
    for (const timer of timers.values()) timer.stop();
    while (running.size > 0) await Promise.all(running);
    server.closeAllConnections();
    await closed;
    await core.runHooks("appTerminate", { hookData: core.appHookData, appHookData: core.appHookData });
    log("information", "Host.Shutdown", "Host stopped");
  };

  return {
    url: `http://${address}:${port}`,
    port,
    masterKey,
    functions: served.map(one => one.name),
    async run(functionName) {
      const timer = timers.get(find(functionName)?.name ?? "");
      if (timer === undefined) throw new Error(`No timer function is named "${functionName}".`);
      if (stopped !== undefined) throw new Error("The host is stopped.");
      const work = timer.run("This function was programmatically called.");
      track(work);
      await work;
    },
    nextRuns: () =>
      served
        .filter(one => timersRun && !one.disabled)
        .flatMap(({ name }) => {
          const at = timers.get(name)?.next();
          return at === undefined ? [] : [{ name, at: at.toISOString() }];
        })
        .sort((a, b) => (a.at < b.at ? -1 : 1)),
    stop: () => {
      stopped ??= stop();
      return stopped;
    },
  };
}

const listen = (server: ReturnType<typeof createServer>, port: number): Promise<number> =>
  new Promise((resolve, reject) => {
    server.once("error", (error: NodeJS.ErrnoException) => {
      reject(
        error.code === "EADDRINUSE" ? new Error(`Port ${port} on ${address} is in use.`, { cause: error }) : error,
      );
    });
    server.listen(port, address, () => resolve((server.address() as AddressInfo).port));
  });
