// Development tool, not for production: a page to look at the local system, and to work it.
import { createServer, type IncomingMessage } from "node:http";
import { listen, type PeerAnswer, readCall, sendAnswer, shut } from "../peers/http-exchange.ts";
import type { Tokens } from "../start/tokens.ts";
import { type ApiHost, consoleApi } from "./api.ts";
import { refusal } from "./guard.ts";
import { openPage } from "./page-files.ts";
import { createSoftwareKeys } from "./software-keys.ts";
import { storedRequests } from "./stored-requests.ts";

/** The page's server. It holds the tokens of the system, so it answers nobody but its own page. */
export interface Console {
  /** `http://127.0.0.1:<port>`, no slash at the end. */
  readonly url: string;
  /** Says where the host answers, as soon as there is one, and what opens its maintenance. */
  hostIs(url: string, masterKey?: string): void;
  close(): Promise<void>;
}

export interface ConsoleOptions {
  readonly connectionString: string;
  readonly tokens: Tokens;
  /** Addresses of the simulated peers by name. */
  readonly peers: Readonly<Record<string, string>>;
  /** A free one where 0 or missing. */
  readonly port?: number;
  /** Where software keys are kept; in memory where missing. */
  readonly statePath?: string | undefined;
}

/** Serves the console on 127.0.0.1. */
export async function startConsole(options: ConsoleOptions): Promise<Console> {
  let host: ApiHost | undefined;
  let url = "http://127.0.0.1";
  const page = openPage();
  const requests = storedRequests(options.connectionString);
  const keys = createSoftwareKeys(options.statePath);
  const api = consoleApi({ ...options, requests, keys, host: () => host });

  const answer = async (request: IncomingMessage, gone: AbortSignal): Promise<PeerAnswer> => {
    try {
      const call = await readCall(request, url);
      return refusal(call, url) ?? page(call) ?? (await api(call, gone)) ?? noSuchPage;
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
    hostIs: (address, masterKey) => {
      host = { address, masterKey };
    },
    close: () => shut(server),
  };
}

const noSuchPage: PeerAnswer = { status: 404, body: { error: "There is no such page." } };

const everyAnswer = {
  "cache-control": "no-store",
  "x-content-type-options": "nosniff",
  "referrer-policy": "no-referrer",
  "cross-origin-resource-policy": "same-origin",
};
