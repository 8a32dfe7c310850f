import type { IncomingHttpHeaders, IncomingMessage, Server, ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { buffer } from "node:stream/consumers";

/** One HTTP call as a simulated peer sees it. */
export interface PeerCall {
  readonly method: string;
  /** The path, percent-decoded. */
  readonly path: string;
  readonly query: URLSearchParams;
  readonly headers: IncomingHttpHeaders;
  readonly body: Buffer;
  /** The address as it was called, path still encoded. */
  readonly url: URL;
}

export interface PeerAnswer {
  readonly status: number;
  readonly headers?: Record<string, string>;
  /** A string or Buffer goes out as it is, nothing for `undefined`, everything else as JSON. */
  readonly body?: unknown;
}

/** Reads a request to its end. `base` is the server's own address. */
export async function readCall(request: IncomingMessage, base: string): Promise<PeerCall> {
  const url = new URL(request.url ?? "/", base);
  return {
    method: request.method ?? "GET",
    path: decoded(url.pathname),
    query: url.searchParams,
    headers: request.headers,
    body: await buffer(request),
    url,
  };
}

export function sendAnswer(response: ServerResponse, { status, headers = {}, body }: PeerAnswer): void {
  const asIs = body === undefined || typeof body === "string" || Buffer.isBuffer(body);
  const content = asIs ? (body ?? "") : JSON.stringify(body);
  const type: Record<string, string> = asIs ? {} : { "content-type": "application/json; charset=utf-8" };
  response.writeHead(status, { ...type, "content-length": String(Buffer.byteLength(content)), ...headers });
  response.end(content);
}

/**
 * Listens on 127.0.0.1 and answers the port, a free one for 0. Rejects with a sentence that names `name` and the port.
 * Idle connections are kept: a server that closes one just as its caller uses it again looks like an outage.
 */
export function listen(server: Server, name: string, port: number): Promise<number> {
  server.keepAliveTimeout = 0;
  return new Promise((resolve, reject) => {
    server.once("error", (error: NodeJS.ErrnoException) =>
      reject(
        new Error(
          error.code === "EADDRINUSE"
            ? `${name} cannot start: port ${port} on 127.0.0.1 is in use`
            : `${name} cannot start: ${error.message}`,
          { cause: error },
        ),
      ),
    );
    server.listen(port, "127.0.0.1", () => resolve((server.address() as AddressInfo).port));
  });
}

/** Stops listening and drops every open connection. */
export const shut = (server: Server): Promise<void> =>
  new Promise(resolve => {
    server.close(() => resolve());
    server.closeAllConnections();
  });

const decoded = (path: string): string => {
  try {
    return decodeURIComponent(path);
  } catch {
    return path;
  }
};
