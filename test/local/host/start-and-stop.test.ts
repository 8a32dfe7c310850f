import { once } from "node:events";
import { request } from "node:http";
import { connect, createServer } from "node:net";
import { networkInterfaces } from "node:os";
import { app } from "@azure/functions";
import { afterEach, beforeAll, beforeEach, describe, expect, it } from "vitest";
import type { RegisteredFunction } from "../../../local/host/functions-core.ts";
import { type HostOptions, type LocalHost, startHost } from "../../../local/host/host.ts";
import { functionsCoreOfFile } from "../../support/host/functions-core-of-file.ts";
import { call } from "./http/raw-request.ts";

const core = functionsCoreOfFile();
const events: string[] = [];
const lines: [level: string, category: string, message: string][] = [];
let host: LocalHost | undefined;

const start = async (options: Partial<HostOptions> = {}) => {
  host = await startHost(core, { port: 0, env: {}, log: (...line) => lines.push(line), ...options });
  return host;
};

/** A gate at which a function waits; `reached` when it is there. */
const createGate = () => {
  const reached = Promise.withResolvers<void>();
  const opened = Promise.withResolvers<void>();
  const pass = () => {
    reached.resolve();
    return opened.promise;
  };
  return { reached: reached.promise, open: () => opened.resolve(), fail: opened.reject, pass };
};
let gate = createGate();
let onPre: (context: Parameters<Parameters<typeof app.hook.preInvocation>[0]>[0]) => void = () => {};

beforeAll(() => {
  app.http("waits", {
    handler: async () => {
      await gate.pass();
      events.push("request ended");
      return { body: "done" };
    },
  });
  app.http("hello", { handler: ({ query }) => ({ body: `hello ${query.get("name")}` }) });
  app.timer("job", {
    schedule: "0 0 0 1 1 *",
    handler: async () => {
      await gate.pass();
      events.push("timer ended");
    },
  });
  app.timer("other-job", { schedule: "0 0 0 1 1 *", handler: () => void events.push("other job") });
  app.hook.appTerminate(async () => {
    await new Promise(resolve => setImmediate(resolve));
    events.push("terminated");
  });
  app.hook.preInvocation(context => onPre(context));
});
beforeEach(() => {
  gate = createGate();
});
afterEach(async () => {
  gate.open();
  await host?.stop();
  host = undefined;
  events.length = 0;
  lines.length = 0;
  onPre = () => {};
});

const refused = async (port: number, address = "127.0.0.1") => {
  const socket = connect(port, address);
  const error = await once(socket, "connect").then(
    () => undefined,
    (cause: NodeJS.ErrnoException) => cause.code,
  );
  socket.destroy();
  return error === "ECONNREFUSED";
};

const registered = (name: string, route: string): RegisteredFunction => ({
  metadata: { name, bindings: { in: { type: "httpTrigger", methods: ["GET"], authLevel: "anonymous", route } } },
  callback: () => {},
});

/** Time enough for a stop that awaits nothing to come to its end. */
const turns = async () => {
  for (let count = 0; count < 20; count++) await new Promise(resolve => setImmediate(resolve));
};

it("refuses more requests than host.json allows with 429 at once", async () => {
  const { url } = await start({ hostJson: { extensions: { http: { maxOutstandingRequests: 3 } } } });
  const sent = Array.from({ length: 6 }, () => fetch(`${url}/waits`));
  const refused: Response[] = [];
  const isRefused = Promise.withResolvers<void>();
  for (const response of sent) {
    response.then(one => {
      if (one.status === 429) refused.push(one);
      if (refused.length === 3) isRefused.resolve();
    });
  }
  await isRefused.promise;
  expect(refused.map(({ headers }) => headers.get("x-function-scaleout"))).toEqual(["1", "1", "1"]);
  gate.open();
  expect((await Promise.all(sent)).map(({ status }) => status).sort()).toEqual([200, 200, 200, 429, 429, 429]);
  expect((await fetch(`${url}/hello`)).status).toBe(200);
});

describe("a stop", () => {
  it("closes the port at once, lets requests in flight finish, then runs the terminate hooks", async () => {
    const { port, stop } = await start();
    const sent = request({ port, host: "127.0.0.1", path: "/waits", headers: { connection: "keep-alive" } }).end();
    await gate.reached;
    const stopped = stop();
    expect(await refused(port)).toBe(true);
    await turns();
    expect(events).toEqual([]);
    gate.open();
    const [response] = await once(sent, "response");
    expect([response.statusCode, response.headers.connection]).toEqual([200, "close"]);
    response.resume();
    await stopped;
    expect(events).toEqual(["request ended", "terminated"]);
  });

  it.each(["the admin endpoint", "a call"])("awaits a timer that %s started", async by => {
    const { port, masterKey, run, stop } = await start();
    if (by === "a call") run("job").catch(() => {});
    else {
      const headers = { "x-functions-key": masterKey, "content-type": "application/json" };
      const answer = await call({ port }, "/admin/functions/job", { method: "POST", headers, body: "{}" });
      expect(answer.status).toBe(202);
    }
    await gate.reached;
    const stopped = stop();
    expect(await refused(port)).toBe(true);
    await turns();
    expect(events).toEqual([]);
    gate.open();
    await stopped;
    expect(events).toEqual(["timer ended", "terminated"]);
  });

  it("completes a function whose caller has disconnected", async () => {
    const { port, stop } = await start();
    const sent = request({ port, host: "127.0.0.1", path: "/waits" }).end();
    sent.on("error", () => {});
    await gate.reached;
    sent.destroy();
    const stopped = stop();
    gate.open();
    await stopped;
    expect(events).toEqual(["request ended", "terminated"]);
  });
});

describe("a start", () => {
  it("names the port that is in use", async () => {
    const other = createServer().listen(0, "127.0.0.1");
    await once(other, "listening");
    const { port } = other.address() as { port: number };
    await expect(start({ port })).rejects.toThrow(`Port ${port} on 127.0.0.1 is in use.`);
    other.close();
  });

  it("binds the loopback address only", async () => {
    const { port, url } = await start();
    expect(url).toBe(`http://127.0.0.1:${port}`);
    const outside = Object.values(networkInterfaces())
      .flat()
      .filter(one => one !== undefined && !one.internal && one.family === "IPv4");
    for (const one of outside) expect(await refused(port, one?.address)).toBe(true);
    expect(await refused(port, "127.0.0.2")).toBe(true);
  });

  it("is refused for a route that would take the whole app down in Azure", async () => {
    const refusals: [route: string, reason: string][] = [
      ["/lead/slash", 'the route "/lead/slash" begins with a slash'],
      ["a//b", "neither text nor one parameter"],
      ["{a}-{b}", "neither text nor one parameter"],
      ["{a", "neither text nor one parameter"],
    ];
    for (const [route, reason] of refusals) {
      const other = { functions: new Map([["lead", registered("lead", route)]]), logTo: () => {} };
      await expect(startHost({ ...core, ...other }, { port: 0, env: {} })).rejects.toThrow(reason);
    }
  });

  it("leaves out a function whose route another one has, or the host itself, and names it in the log", async () => {
    const names: [name: string, route: string][] = [
      ["built-in", "administration/x"],
      ["dupA", "dup"],
      ["dupB", "DUP"],
    ];
    const functions = new Map(names.map(([name, route]) => [name, registered(name, route)]));
    const log = (...line: [string, string, string]) => lines.push(line as never);
    host = await startHost({ ...core, functions, logTo: () => {} }, { port: 0, env: {}, log });
    expect(host.functions).toEqual(["dupA"]);
    expect(lines.filter(([level]) => level === "error").map(([, , message]) => message)).toEqual([
      "The 'built-in' function is in error: The specified route conflicts with one or more built in routes.",
      "The 'dupB' function is in error: The route specified conflicts with the route defined by function 'dupA'.",
    ]);
  });
});

describe("a timer on demand", () => {
  it("runs though timers are off or it is disabled, its name in any letter case", async () => {
    const { run } = await start({ timers: false, env: { "AzureWebJobs.other-job.Disabled": "1" } });
    await run("OTHER-job");
    expect(events).toEqual(["other job"]);
  });

  it("rejects with the function's own error, for an unknown name, and after a stop", async () => {
    const { run, stop } = await start();
    gate.fail(new Error("mine"));
    await expect(run("job")).rejects.toThrow("mine");
    await expect(run("nobody")).rejects.toThrow('No timer function is named "nobody".');
    await expect(run("hello")).rejects.toThrow('No timer function is named "hello".');
    await stop();
    await expect(run("job")).rejects.toThrow("The host is stopped.");
  });
});

describe("an invocation", () => {
  it("passes through the app's hook, which may change the function", async () => {
    const { port } = await start();
    onPre = context => {
      context.functionHandler = () => ({ body: `from the hook of ${context.invocationContext.functionName}` });
    };
    expect((await call({ port }, "/hello")).text).toBe("from the hook of hello");
    onPre = () => {
      throw new Error("a secret of the hook");
    };
    expect(await call({ port }, "/hello")).toMatchObject({ status: 500, text: "" });
    expect(lines.at(-1)).toMatchObject(["error", "Function.hello", expect.stringContaining("a secret of the hook")]);
  });
});
