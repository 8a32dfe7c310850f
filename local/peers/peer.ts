import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import { type HttpAnswer, type HttpCall, listen, readCall, sendAnswer, shut } from "../../commands/http-exchange.ts";
import { type ControlRoutes, controlAnswer, withBody } from "./control.ts";
import { createFaults, type FaultRule, faultRule } from "./faults.ts";
import { refusing } from "./refusal.ts";
import { createWatch } from "./watch.ts";

export type { HttpAnswer, HttpCall } from "../../commands/http-exchange.ts";
export type { FaultRule } from "./faults.ts";

/** A call that a peer received. `status` is null while it is in progress, hanging or dropped; `at` is in ms since 1970. */
export interface PeerRequest {
  readonly method: string;
  readonly path: string;
  readonly at: number;
  readonly status: number | null;
}

/** A simulated external system on its own port, which records its calls and can be set to fail. */
export type Peer = Awaited<ReturnType<typeof startPeer>>;

/** Where a peer runs. */
export interface PeerPlace {
  /** A free port if 0 or absent. */
  readonly port?: number | undefined;
  /** File of its state; in memory if absent. */
  readonly statePath?: string | undefined;
}

interface PeerOptions extends Pick<PeerPlace, "port"> {
  /** The routes of the peer; undefined becomes 404. */
  handle(call: HttpCall): HttpAnswer | undefined | Promise<HttpAnswer | undefined>;
  /** The `/_control/` routes of the peer, besides the common ones. */
  control?: ControlRoutes;
}

/** Starts a peer on 127.0.0.1. Calls under `/_control/` steer it; they are not recorded, and faults do not affect them. */
export async function startPeer(name: string, { handle, control = {}, port = 0 }: PeerOptions) {
  const watch = createWatch();
  const faults = createFaults(watch);
  const requests: { -readonly [K in keyof PeerRequest]: PeerRequest[K] }[] = [];
  let closed = false;
  let url = "http://127.0.0.1";

  /** Returns how a call ends. Until then it counts as in progress. */
  const decide = async (call: HttpCall, gone: AbortSignal) => {
    const leave = faults.enter(call);
    try {
      const rule = faults.take(call);
      watch.changed();
      const before = rule?.phase === "before" ? await faults.strike(rule, gone) : "go";
      if (closed) return "drop";
      const fate = before === "go" ? ((await refusing(() => handle(call))) ?? notFound(call)) : before;
      const after = rule?.phase === "after" ? await faults.strike(rule, gone) : "go";
      return after === "go" ? fate : after;
    } finally {
      leave();
    }
  };

  const exchange = async (request: IncomingMessage, response: ServerResponse) => {
    const gone = new AbortController();
    response.once("close", () => gone.abort());
    const call = await readCall(request, url);
    if (call.path.startsWith("/_control/")) {
      sendAnswer(response, (await refusing(() => controlAnswer(controls, call))) ?? notFound(call));
      return;
    }
    const record = { method: call.method, path: call.path, at: Date.now(), status: null as number | null };
    requests.push(record);
    const fate = await decide(call, gone.signal);
    if (closed) return;
    if (fate === "drop" || response.destroyed) {
      request.socket.destroy();
      return;
    }
    if (fate === "cut") {
      response.writeHead(200, { "content-type": "application/json", "content-length": "1000" });
      response.write("{", () => request.socket.destroy());
      return;
    }
    record.status = fate.status;
    sendAnswer(response, fate);
    watch.changed();
  };

  const server = createServer((request, response) => {
    exchange(request, response).catch((error: unknown) => {
      if (request.socket.destroyed) return;
      console.error(`The simulated peer ${name} failed`, error);
      if (response.headersSent) request.socket.destroy();
      else sendAnswer(response, { status: 500, body: { error: `simulated peer failed: ${String(error)}` } });
    });
  });
  url = `http://127.0.0.1:${await listen(server, name, port)}`;

  const resetRequests = () => void requests.splice(0);
  /** The HTTP form of {@link Peer}, for other processes. */
  const controls: ControlRoutes = {
    "GET faults": faults.list,
    "POST faults": withBody(faultRule, rule => {
      faults.add(rule);
      return rule;
    }),
    "DELETE faults": faults.clear,
    "GET requests": ({ query }) => ({
      total: requests.length,
      hanging: faults.hanging(),
      requests: requests.slice(Math.max(0, requests.length - Number(query.get("top") ?? requests.length))),
    }),
    "DELETE requests": resetRequests,
    "POST release": () => ({ released: faults.end("go") }),
    ...control,
  };
  const count = (method: string, path: RegExp) =>
    requests.filter(request => request.method === method && request.path.search(path) !== -1).length;

  return {
    name,
    /** `http://127.0.0.1:<port>`, without a slash at the end. */
    url,
    /** Adds a fault. Throws if the rule is invalid. */
    fail: (rule: FaultRule) => faults.add(faultRule.parse(rule)),
    /** Removes all rules and drops the connections of hanging calls. */
    clearFaults: faults.clear,
    requests: (): readonly PeerRequest[] => requests.map(request => ({ ...request })),
    count,
    resetRequests,
    /** Returns the number of hanging calls. A call whose caller has disconnected does not count, and its work is not done. */
    hanging: faults.hanging,
    /** Resolves as soon as `n` calls hang. */
    untilHanging: (n = 1) => watch.until(() => faults.hanging() >= n),
    /** Resolves as soon as `n` matching calls have arrived. */
    untilRequested: (method: string, path: RegExp, n = 1) => watch.until(() => count(method, path) >= n),
    /** Lets hanging calls continue: with their work if the rule is `before`, with the response if it is `after`. */
    release: () => void faults.end("go"),
    /** Stops the peer and closes its connections. */
    close: async () => {
      if (closed) return;
      closed = true;
      faults.clear();
      await shut(server);
    },
  };
}

const notFound = ({ method, path }: HttpCall): HttpAnswer => ({
  status: 404,
  body: { error: { code: "NotFound", message: `there is no ${method} ${path}` } },
});
