// Development tool: from a request to its response, as Azure's host gives it.
import { type IncomingMessage, STATUS_CODES } from "node:http";
import type { Duplex } from "node:stream";
import type { Admin } from "../admin.ts";
import type { Invoke } from "../invoke.ts";
import type { HttpFunction } from "../served-functions.ts";
import type { HasMasterKey } from "./keys.ts";
import { readFunctionBody, readTarget, type Target, toRpcRequest } from "./request.ts";
import type { RequestQueue } from "./request-queue.ts";
import { type Answer, toAnswer } from "./response.ts";

interface ServeDeps {
  /** In the order in which their routes are matched. */
  readonly functions: readonly HttpFunction[];
  readonly invoke: Invoke;
  readonly queue: RequestQueue;
  readonly hasMasterKey: HasMasterKey;
  readonly admin: Admin;
  /** In bytes; the response to a longer body is 500. */
  readonly bodyLimit: number;
}

/** Handles a request. Rejects only if the caller disconnects while sending. */
export type Serve = (request: IncomingMessage) => Promise<Answer>;

export function createServe({ functions, invoke, queue, hasMasterKey, admin, bodyLimit }: ServeDeps): Serve {
  const callFunction = async (request: IncomingMessage, target: Target): Promise<Answer> => {
    const found = findRoute(functions, request.method, target.path);
    // The root is the home page of the real host, which is switched off.
    if (found === undefined) return { status: target.path === "/" ? 204 : 404 };
    const [one, parameters] = found;
    if (one.needsKey && !hasMasterKey(request, target.rawQuery)) return { status: 401 };
    if (one.disabled) return { status: 404 };
    const answer = queue(async () => {
      const body = await readFunctionBody(request, bodyLimit);
      if (body === undefined) return { status: 500, headers: { connection: "close" } };
      try {
        const http = toRpcRequest(request, target, parameters, body);
        return toAnswer(await invoke(one, { http }, "This function was called by an HTTP request."));
      } catch {
        return { status: 500 };
      }
    });
    return answer ?? { status: 429, headers: { "x-function-scaleout": "1" } };
  };

  return async request => {
    const target = readTarget(request);
    if ("status" in target) return target;
    if (!/^\/(?:admin|runtime)\//i.test(target.path)) return callFunction(request, target);
    return admin(request, target.path, hasMasterKey(request, target.rawQuery));
  };
}

/** Returns the first function whose route and method match: a wrong method is handled like an unknown path. */
function findRoute(functions: readonly HttpFunction[], method: string | undefined, path: string) {
  for (const one of functions) {
    const parameters = one.methods.includes(method ?? "") ? one.route.match(path) : undefined;
    if (parameters !== undefined) return [one, parameters] as const;
  }
  return undefined;
}

// Node hands these requests over as a bare socket.

/** Responds to a method that no function can have. */
export const refuseUnknownMethod = (socket: Duplex): void => refuse(socket, 404);

/**
 * Responds to what the parser rejects: 404 for an unknown method, because no function has a route with it, 405 for a target without a
 * slash, 431 for too many headers, 400 for anything else.
 */
export function refuseMalformed(error: NodeJS.ErrnoException & { readonly rawPacket?: Buffer }, socket: Duplex): void {
  // What arrives after the response is read and dropped: closing the connection with unread bytes would reset it.
  if (socket.writableEnded) return;
  if (error.code === "ECONNRESET" || !socket.writable) {
    socket.destroy();
    return;
  }
  const [line = ""] = (error.rawPacket?.toString("latin1") ?? "").split(/\r?\n/);
  if (error.code === "HPE_INVALID_METHOD" && /^[!-~]+ \/[!-~]* HTTP\/1\.[01]$/.test(line)) refuseUnknownMethod(socket);
  else if (/^[A-Z]+ [^/* ][^: ]* HTTP\/1\.[01]$/.test(line)) refuse(socket, 405, { Allow: "CONNECT" });
  else refuse(socket, error.code === "HPE_HEADER_OVERFLOW" ? 431 : 400);
}

function refuse(socket: Duplex, status: number, more: Readonly<Record<string, string>> = {}): void {
  const headers = { "Content-Length": "0", Connection: "close", Server: "Kestrel", ...more };
  const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}\r\n`);
  socket.end(`HTTP/1.1 ${status} ${STATUS_CODES[status]}\r\n${lines.join("")}\r\n`);
}
