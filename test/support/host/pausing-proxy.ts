import { Agent, createServer, type IncomingMessage, request as send } from "node:http";
import { buffer } from "node:stream/consumers";
import { listen, shut } from "../../../commands/http-exchange.ts";
import { createWatch } from "../../../local/peers/watch.ts";

/** Which exchanges to hold, and when. What is missing fits everything. */
export interface HoldRule {
  /** `request`: the target has not received it yet. `response`: the target has done it, the caller gets no response. */
  readonly phase: "request" | "response";
  readonly method?: string;
  /** On the decoded path and query. */
  readonly path?: RegExp;
  /** On the request's body, which for a transaction holds the paths and entities of its parts. */
  readonly body?: RegExp;
  /** How many exchanges are held, one where missing. */
  readonly times?: number;
}

export interface Hold {
  /** How many exchanges are held now. One whose caller is gone is still held: it is on its way to the target. */
  held(): number;
  /** Resolves as soon as an exchange is held. */
  untilHeld(): Promise<void>;
  /** Lets what is held go on, and holds no more. */
  release(): void;
  /** Cuts the connections of what is held, which goes no further, and holds no more. */
  drop(): void;
}

export interface PausingProxy {
  /** The connection string with the target's address replaced by the proxy's. */
  through(connectionString: string): string;
  hold(rule: HoldRule): Hold;
  /** Cuts the connection of each exchange that fits. The phase `response` loses the responses of what the target has done. */
  cut(rule: HoldRule): { count(): number };
  /** Drops what is held and every open connection. */
  close(): Promise<void>;
}

interface Exchange {
  readonly method: string;
  readonly path: string;
  readonly body: string;
}

type Fate = "go" | "drop";

/**
 * A proxy before `target` (`http://127.0.0.1:<port>`) that can hold an exchange before or after the target has done it. It
 * hands on path, headers and body as they are, so signatures stay good.
 */
export async function startPausingProxy(target: string): Promise<PausingProxy> {
  const { hostname, port } = new URL(target);
  const agent = new Agent({ keepAlive: true });
  const holds: { meet(phase: HoldRule["phase"], exchange: Exchange): Promise<Fate>; drop(): void }[] = [];

  const forward = (request: IncomingMessage, body: Buffer) =>
    new Promise<IncomingMessage>((resolve, reject) => {
      const headers = request.rawHeaders;
      send({ hostname, port, agent, method: request.method ?? "GET", path: request.url ?? "/", headers })
        .once("response", resolve)
        .once("error", reject)
        .end(body);
    });

  /** Every hold in turn: one that is released may be held by the next. */
  const meet = async (phase: HoldRule["phase"], exchange: Exchange): Promise<Fate> => {
    for (const hold of [...holds]) if ((await hold.meet(phase, exchange)) === "drop") return "drop";
    return "go";
  };

  const server = createServer(async (request, response) => {
    try {
      const body = await buffer(request);
      const { method = "GET", url = "/" } = request;
      const exchange = { method, path: decodeURIComponent(url), body: body.toString("utf8") };
      if ((await meet("request", exchange)) === "drop") return request.socket.destroy();
      const answer = await forward(request, body);
      const content = await buffer(answer);
      if ((await meet("response", exchange)) === "drop") return request.socket.destroy();
      response.writeHead(answer.statusCode ?? 502, answer.statusMessage, endToEnd(answer.rawHeaders)).end(content);
    } catch {
      request.socket.destroy();
    }
    return undefined;
  });
  const url = `http://127.0.0.1:${await listen(server, "the pausing proxy", 0)}`;

  return {
    through: connectionString => connectionString.replaceAll(target, url),
    hold: rule => {
      const hold = createHold(rule);
      holds.push(hold);
      return hold;
    },
    cut: ({ times = Number.POSITIVE_INFINITY, ...rule }) => {
      let count = 0;
      holds.push({
        meet: async (phase, exchange) => {
          if (count === times || phase !== rule.phase || !fits(rule, exchange)) return "go";
          count++;
          return "drop";
        },
        drop: () => undefined,
      });
      return { count: () => count };
    },
    close: async () => {
      for (const hold of holds) hold.drop();
      await shut(server);
      agent.destroy();
    },
  };
}

function createHold(rule: HoldRule) {
  const watch = createWatch();
  let held: ((fate: Fate) => void)[] = [];
  let left = rule.times ?? 1;

  const end = (fate: Fate) => {
    left = 0;
    const ending = held;
    held = [];
    for (const decide of ending) decide(fate);
  };

  return {
    held: () => held.length,
    untilHeld: () => watch.until(() => held.length > 0),
    release: () => end("go"),
    drop: () => end("drop"),
    meet: (phase: HoldRule["phase"], exchange: Exchange): Promise<Fate> => {
      if (left === 0 || phase !== rule.phase || !fits(rule, exchange)) return Promise.resolve("go");
      left--;
      return new Promise(resolve => {
        held.push(resolve);
        watch.changed();
      });
    },
  };
}

const fits = (rule: HoldRule, { method, path, body }: Exchange) =>
  (rule.method === undefined || rule.method === method) && matches(rule.path, path) && matches(rule.body, body);

const matches = (pattern: RegExp | undefined, text: string) => pattern === undefined || text.search(pattern) !== -1;

/** Without the headers that speak of the connection to the target. */
const endToEnd = (rawHeaders: readonly string[]) =>
  rawHeaders.filter((_, i) => !/^(connection|keep-alive|transfer-encoding)$/i.test(rawHeaders[i - (i % 2)] ?? ""));
