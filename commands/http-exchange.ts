import type { IncomingHttpHeaders, IncomingMessage, Server, ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";

/** An HTTP call that a server on this machine received. */
export interface HttpCall {
  readonly method: string;
  /** The path, percent-decoded. */
  readonly path: string;
  readonly query: URLSearchParams;
  readonly headers: IncomingHttpHeaders;
  readonly body: Buffer;
  /** The URL of the call, with the encoded path. */
  readonly url: URL;
}

export interface HttpAnswer {
  readonly status: number;
  readonly headers?: Record<string, string>;
  /** A string or Buffer is sent unchanged, undefined as no body, everything else as JSON. */
  readonly body?: unknown;
}

/** The largest body. */
const maxBodyBytes = 8 * 1024 * 1024;

async function readBody(request: IncomingMessage): Promise<Buffer> {
  const chunks: Buffer[] = [];
  let size = 0;
  for await (const chunk of request as AsyncIterable<Buffer>) {
    size += chunk.length;
    if (size > maxBodyBytes) throw new Error(`The body is longer than ${maxBodyBytes} bytes.`);
    chunks.push(chunk);
  }
  return Buffer.concat(chunks);
}

/** Reads a request completely. Throws for a body over 8 MiB. @param base address of the server */
export async function readCall(request: IncomingMessage, base: string): Promise<HttpCall> {
  const url = new URL(request.url ?? "/", base);
  return {
    method: request.method ?? "GET",
    path: decoded(url.pathname),
    query: url.searchParams,
    headers: request.headers,
    body: await readBody(request),
    url,
  };
}

export function sendAnswer(response: ServerResponse, { status, headers = {}, body }: HttpAnswer): void {
  const asIs = body === undefined || typeof body === "string" || Buffer.isBuffer(body);
  const content = asIs ? (body ?? "") : JSON.stringify(body);
  const type: Record<string, string> = asIs ? {} : { "content-type": "application/json; charset=utf-8" };
  response.writeHead(status, { ...type, "content-length": String(Buffer.byteLength(content)), ...headers });
  response.end(content);
}

/**
 * Listens on 127.0.0.1 and returns the port; 0 uses a free port. Rejects with a sentence that contains `name` and the port.
 * Keeps idle connections: closing one at the moment when the caller uses it again would look like an outage.
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

/** Stops listening and closes every open connection. */
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
