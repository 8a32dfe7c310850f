import { createServer, type IncomingMessage } from "node:http";
import { type HttpAnswer, type HttpCall, listen, readCall, sendAnswer, shut } from "../http-exchange.ts";
import { refusal } from "./guard.ts";
import { openPage } from "./page-files.ts";

/** Answers a call of the page; undefined if there is no such path. @param gone aborts when the page no longer waits */
export type Answer = (call: HttpCall, gone: AbortSignal) => HttpAnswer | undefined | Promise<HttpAnswer | undefined>;

interface ServerOptions {
  readonly answer: Answer;
  /** A free one if 0 or absent. */
  readonly port?: number;
  /** What the calls of the page must contain, so that other users of this machine cannot make them. */
  readonly secret?: string;
}

/** The page's server. It calls with credentials, so it serves only its own page. */
export interface ConsoleServer {
  /** `http://127.0.0.1:<port>`, no slash at the end. */
  readonly url: string;
  close(): Promise<void>;
}

/** Serves the console on 127.0.0.1. */
export async function serveConsole({ answer, port = 0, secret }: ServerOptions): Promise<ConsoleServer> {
  let url = "http://127.0.0.1";
  const page = openPage();
  const respond = async (request: IncomingMessage, gone: AbortSignal): Promise<HttpAnswer> => {
    try {
      const call = await readCall(request, url);
      return refusal(call, url, secret) ?? page(call) ?? (await answer(call, gone)) ?? noSuchPage;
    } catch (error) {
      return { status: 500, body: { error: `The console failed: ${String(error)}` } };
    }
  };
  const server = createServer(async (request, response) => {
    const gone = new AbortController();
    response.once("close", () => gone.abort());
    const made = await respond(request, gone.signal);
    if (!response.destroyed) sendAnswer(response, { ...made, headers: { ...everyAnswer, ...made.headers } });
  });
  url = `http://127.0.0.1:${await listen(server, "console", port)}`;
  return { url, close: () => shut(server) };
}

const noSuchPage: HttpAnswer = { status: 404, body: { error: "There is no such page." } };

const everyAnswer = {
  "cache-control": "no-store",
  "x-content-type-options": "nosniff",
  "referrer-policy": "no-referrer",
  "cross-origin-resource-policy": "same-origin",
};
