import { once } from "node:events";
import { request } from "node:http";
import { connect, createServer } from "node:net";
import { networkInterfaces } from "node:os";
import { app } from "@azure/functions";
import { afterEach, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { installFunctionsCore } from "../../../local/host/functions-core.ts";
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
  return { reached: reached.promise, open: () => opened.resolve(), pass };
};
let gate = createGate();
let onPre: (context: Parameters<Parameters<typeof app.hook.preInvocation>[0]>[0]) => void = () => {};
let onPost: (context: Parameters<Parameters<typeof app.hook.postInvocation>[0]>[0]) => void = () => {};

beforeAll(() => {
  app.http("waits", {
    handler: async () => {
      await gate.pass();
      events.push("request ended");
      return { body: "done" };
    },
  });
  app.http("hello", { handler: ({ query }) => ({ body: `hello ${query.get("name")}` }) });
  app.http("logs", {
    handler: (_, context) => {
      context.trace("t");
      context.debug("d");
      context.log("i", 1, { a: 2 });
      context.warn("w");
      context.error("e");
      return {};
    },
  });
  app.timer("job", {
    schedule: "0 0 0 1 1 *",
    handler: async () => {
      await gate.pass();
      events.push("timer ended");
    },
  });
  app.hook.appStart(({ hookData }) => {
    hookData.of = "the app";
    events.push("start");
  });
  app.hook.appTerminate(async ({ hookData }) => {
    await new Promise(resolve => setImmediate(resolve));
    events.push(`terminate of ${hookData.of}`);
  });
  app.hook.preInvocation(context => onPre(context));
  app.hook.postInvocation(context => onPost(context));
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
  onPost = () => {};
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

/** Time enough for a stop that awaits nothing to come to its end. */
const turns = async () => {
  for (let count = 0; count < 20; count++) await new Promise(resolve => setImmediate(resolve));
};

describe("the limits of host.json", () => {
  it("let requests wait for one that runs, and refuse others with 429 at once", async () => {
    const http = { maxConcurrentRequests: 2, maxOutstandingRequests: 3 };
    const { url } = await start({ hostJson: { extensions: { http } } });
    const sent = Array.from({ length: 6 }, () => fetch(`${url}/api/waits`));
    const refused: Response[] = [];
    const isRefused = Promise.withResolvers<void>();
    for (const response of sent) {
      response.then(one => {
        if (one.status === 429) refused.push(one);
        if (refused.length === 3) isRefused.resolve();
      });
    }
    await isRefused.promise;
    expect(events).toEqual(["start"]);
    for (const one of refused) {
      expect(one.headers.get("x-function-scaleout")).toBe("1");
      expect(await one.text()).toBe("");
    }
    gate.open();
    expect((await Promise.all(sent)).map(({ status }) => status).sort()).toEqual([200, 200, 200, 429, 429, 429]);
    expect((await fetch(`${url}/api/hello`)).status).toBe(200);
  });
});

describe("a stop", () => {
  it("closes the port at once, lets requests in flight finish, then runs the terminate hooks", async () => {
    const { port, stop } = await start();
    const sent = request({ port, host: "127.0.0.1", path: "/api/waits", headers: { connection: "keep-alive" } }).end();
    await gate.reached;
    const stopped = stop();
    expect(await refused(port)).toBe(true);
    await turns();
    expect(events).toEqual(["start"]);
    gate.open();
    const [response] = await once(sent, "response");
    expect([response.statusCode, response.headers.connection]).toEqual([200, "close"]);
    response.resume();
    await stopped;
    expect(events).toEqual(["start", "request ended", "terminate of the app"]);
  });

  it("awaits a timer that the admin endpoint started", async () => {
    const { port, masterKey, stop } = await start();
    const headers = { "x-functions-key": masterKey, "content-type": "application/json" };
    const answer = await call({ port }, "/admin/functions/job", { method: "POST", headers, body: "{}" });
    expect(answer.status).toBe(202);
    await gate.reached;
    const stopped = stop();
    expect(await refused(port)).toBe(true);
    await turns();
    expect(events).toEqual(["start"]);
    gate.open();
    await stopped;
    expect(events).toEqual(["start", "timer ended", "terminate of the app"]);
  });

  it("awaits a timer that was run on demand", async () => {
    const { port, run, stop } = await start();
    const ran = run("job");
    await gate.reached;
    const stopped = stop();
    expect(await refused(port)).toBe(true);
    await turns();
    expect(events).toEqual(["start"]);
    gate.open();
    await Promise.all([stopped, ran]);
    expect(events).toEqual(["start", "timer ended", "terminate of the app"]);
  });

  it("stops the clocks of timers and invocations", async () => {
    const clocks = () => process.getActiveResourcesInfo().filter(name => name === "Timeout").length;
    const before = clocks();
    const { port, stop } = await start();
    for (let count = 0; count < 20; count++) await call({ port }, "/api/hello");
    await stop();
    expect(clocks()).toBeLessThanOrEqual(before);
  });

  it("does not wait for connections that only stay open, and is one stop however often it is called", async () => {
    const { port, stop } = await start();
    const silent = connect(port, "127.0.0.1");
    await once(silent, "connect");
    await call({ port }, "/api/hello");
    const ended = once(silent.resume(), "close");
    await Promise.all([stop(), stop()]);
    await ended;
    expect(events).toEqual(["start", "terminate of the app"]);
  });

  it("completes a function whose caller has disconnected", async () => {
    const { port, stop } = await start();
    const sent = request({ port, host: "127.0.0.1", path: "/api/waits" }).end();
    sent.on("error", () => {});
    await gate.reached;
    sent.destroy();
    const stopped = stop();
    gate.open();
    await stopped;
    expect(events).toEqual(["start", "request ended", "terminate of the app"]);
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

  it("creates a master key if none is given", async () => {
    const { masterKey } = await start();
    expect(masterKey).toMatch(/^[\w-]{43}$/);
  });

  it("serves what was registered since the core was installed, with one core for each process", async () => {
    expect(installFunctionsCore()).toBe(core);
    app.http("late", { handler: () => ({ body: "late" }) });
    const { port, functions } = await start();
    expect(functions).toContain("late");
    expect((await call({ port }, "/api/late")).text).toBe("late");
    expect(() => app.http("late", { handler: () => ({}) })).toThrow(
      'A function with id "late" has already been registered.',
    );
  });

  it("refuses a function timeout that is not a time span", async () => {
    await expect(start({ hostJson: { functionTimeout: "soon" } })).rejects.toThrow(
      'functionTimeout "soon" is not a time span',
    );
  });
});

describe("an invocation", () => {
  it("is 500 when it passes the function timeout", async () => {
    const { port } = await start({ hostJson: { functionTimeout: "00:00:01" } });
    expect(await call({ port }, "/api/waits")).toMatchObject({ status: 500, text: "" });
    expect(lines.map(line => line[2]).join("\n")).toContain(
      "Timeout value of 1 s exceeded by function 'Functions.waits'.",
    );
    expect((await call({ port }, "/api/hello?name=you")).text).toBe("hello you");
  });

  it("passes through the app's hooks, which may change arguments, result and error", async () => {
    const { port } = await start();
    onPre = context => {
      context.hookData.seen = context.invocationContext.functionName;
      context.functionHandler = () => ({ body: "from the hook" });
    };
    onPost = context => {
      expect(context.hookData).toEqual({ seen: "hello" });
      context.result = { body: `${(context.result as { body: string }).body}, after` };
    };
    expect((await call({ port }, "/api/hello")).text).toBe("from the hook, after");
    onPre = () => {
      throw new Error("no");
    };
    expect((await call({ port }, "/api/hello")).status).toBe(500);
    onPre = context => {
      context.functionHandler = () => {
        throw new Error("healed");
      };
    };
    onPost = context => {
      expect(context.error).toMatchObject({ message: "healed" });
      context.error = undefined;
      context.result = { body: "healed" };
    };
    expect((await call({ port }, "/api/hello")).text).toBe("healed");
  });

  it("logs with the function's name and the level of the line", async () => {
    const { port } = await start();
    await call({ port }, "/api/logs");
    expect(lines.filter(([, category]) => category === "Function.logs.User")).toEqual(
      [
        ["trace", "t"],
        ["debug", "d"],
        ["information", "i 1 { a: 2 }"],
        ["warning", "w"],
        ["error", "e"],
      ].map(([level, message]) => [level, "Function.logs.User", message]),
    );
  });

  it("passes the library's own lines to the log", async () => {
    const { port } = await start();
    await call({ port }, "/api/hello", { body: "dropped" });
    expect(lines).toContainEqual(["warning", "Worker.system", expect.stringContaining("Discarding the body")]);
  });
});

describe("a hook", () => {
  it("with an unknown name is refused", () => {
    expect(() => app.hook.log(() => {})).toThrow("Log hooks require");
  });
});
