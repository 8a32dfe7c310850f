// Development tool, not for production: a page that shows the local system and operates it.
import { createServer, type IncomingMessage } from "node:http";
import { dirname, join } from "node:path";
import { refusal } from "../../commands/console/guard.ts";
import { openPage } from "../../commands/console/page-files.ts";
import { listen, type PeerAnswer, readCall, sendAnswer, shut } from "../peers/http-exchange.ts";
import type { Tokens } from "../start/tokens.ts";
import { type ApiHost, consoleApi } from "./api.ts";
import { openReference } from "./reference/reference.ts";
import { createSoftwareKeys } from "./software-keys/software-keys.ts";

/** The page's server. It has the system's tokens, so it serves only its own page. */
export interface Console {
  /** `http://127.0.0.1:<port>`, no slash at the end. */
  readonly url: string;
  /** Sets the address of the host, and its master key and timers if it runs in this process. */
  hostIs(url: string, own?: Omit<ApiHost, "address">): void;
  /** Adds a line of the host's log to the timeline. */
  addLine(line: string): void;
  close(): Promise<void>;
}

export interface ConsoleOptions {
  readonly connectionString: string;
  readonly tokens: Tokens;
  /** Addresses of the simulated peers by name. */
  readonly peers: Readonly<Record<string, string>>;
  /** A free one if 0 or absent. */
  readonly port?: number;
  /** File of the software keys; the timeline is in the same directory. In memory if absent. */
  readonly statePath?: string | undefined;
}

/** Serves the console on 127.0.0.1. */
export async function startConsole(options: ConsoleOptions): Promise<Console> {
  let host: ApiHost | undefined;
  let url = "http://127.0.0.1";
  const page = openPage();
  const { statePath } = options;
  const keys = createSoftwareKeys(statePath);
  const timelinePath = statePath && join(dirname(statePath), "timeline.json");
  const reference = openReference({ ...options, host: () => host });
  const api = consoleApi({ ...options, keys, timelinePath, host: () => host });

  const answer = async (request: IncomingMessage, gone: AbortSignal): Promise<PeerAnswer> => {
    try {
      const call = await readCall(request, url);
      return (
        refusal(call, url) ??
        page(call) ??
        (await reference(call, gone)) ??
        (await api.answer(call, gone)) ??
        noSuchPage
      );
    } catch (error) {
      return { status: 500, body: { error: `The console failed: ${String(error)}` } };
    }
  };

  const server = createServer(async (request, response) => {
    const gone = new AbortController();
    response.once("close", () => gone.abort());
    const made = await answer(request, gone.signal);
    if (!response.destroyed) sendAnswer(response, { ...made, headers: { ...everyAnswer, ...made.headers } });
  });
  url = `http://127.0.0.1:${await listen(server, "console", options.port ?? 0)}`;
  return {
    url,
    hostIs: (address, own = {}) => {
      host = { address, ...own };
    },
    addLine: api.addLine,
    close: async () => {
      api.close();
      await shut(server);
    },
  };
}

const noSuchPage: PeerAnswer = { status: 404, body: { error: "There is no such page." } };

const everyAnswer = {
  "cache-control": "no-store",
  "x-content-type-options": "nosniff",
  "referrer-policy": "no-referrer",
  "cross-origin-resource-policy": "same-origin",
};
