// Development tool: from a request to its response, as Azure's host gives it.
import { type IncomingMessage, STATUS_CODES } from "node:http";
import type { Duplex } from "node:stream";
import type { Admin } from "../admin.ts";
import type { Invoke } from "../invoke.ts";
import type { HttpFunction } from "../served-functions.ts";
import { type LevelOf, reaches } from "./keys.ts";
import { readFunctionBody, readTarget, type Target, toRpcRequest } from "./request.ts";
import type { RequestQueue } from "./request-queue.ts";
import { type Answer, toAnswer } from "./response.ts";

interface ServeDeps {
  /** In the order in which their routes are matched. */
  readonly functions: readonly HttpFunction[];
  readonly invoke: Invoke;
  readonly queue: RequestQueue;
  readonly levelOf: LevelOf;
  readonly admin: Admin;
  /** In bytes; the response to a longer body is 500. */
  readonly bodyLimit: number;
  /** Whether the root responds with the host's page if no function has that route; otherwise 204. */
  readonly homePage: boolean;
}

/** Handles a request. Rejects only if the caller disconnects while sending. */
export type Serve = (request: IncomingMessage) => Promise<Answer>;

export function createServe({ functions, invoke, queue, levelOf, admin, bodyLimit, homePage }: ServeDeps): Serve {
  const home: Answer = homePage ? homePageAnswer : { status: 204 };

  const callFunction = async (request: IncomingMessage, target: Target): Promise<Answer> => {
    const found = findRoute(functions, request.method, target.path);
    if (found === undefined) return target.path === "/" ? home : { status: 404 };
    const [one, parameters] = found;
    const level = levelOf(request, target.rawQuery, one.name);
    if (!reaches(level, one.authLevel)) return { status: 401 };
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
    if ("status" in target) return { ...target, headers: { connection: "close", "content-length": "0" } };
    if (!/^\/(?:admin|runtime)\//i.test(target.path)) return callFunction(request, target);
    return admin(request, target.path, levelOf(request, target.rawQuery));
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

const homePageAnswer: Answer = {
  status: 200,
  headers: { "content-type": "text/html; charset=utf-8" },
  body: Buffer.from("<!doctype html><title>Local Functions host</title>The local Functions host is up and running."),
};

/** Refuses requests that Node hands over as a bare socket. */
export interface Refusals {
  /**
   * Responds to what the parser rejects: 404 for an unknown method, because no function has a route with it, 405 for a target without a
   * slash, 431 for too many headers, 400 for anything else.
   */
  malformed(error: NodeJS.ErrnoException & { readonly rawPacket?: Buffer }, socket: Duplex): void;
  unknownMethod(socket: Duplex): void;
}

/** @param customHeaders of host.json, for responses of the host; its server refuses without them */
export function createRefusals(customHeaders: Readonly<Record<string, string>>): Refusals {
  const refuse = (socket: Duplex, status: number, more: Readonly<Record<string, string>> = {}): void => {
    const headers = { "Content-Length": "0", Connection: "close", Server: "Kestrel", ...more };
    const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}\r\n`);
    socket.end(`HTTP/1.1 ${status} ${STATUS_CODES[status]}\r\n${lines.join("")}\r\n`);
  };
  const unknownMethod: Refusals["unknownMethod"] = socket => refuse(socket, 404, customHeaders);
  return {
    unknownMethod,
    malformed: (error, socket) => {
      // What arrives after the response is read and dropped: closing the connection with unread bytes would reset it.
      if (socket.writableEnded) return;
      if (error.code === "ECONNRESET" || !socket.writable) {
        socket.destroy();
        return;
      }
      const [line = ""] = (error.rawPacket?.toString("latin1") ?? "").split(/\r?\n/);
      if (error.code === "HPE_INVALID_METHOD" && /^[!-~]+ \/[!-~]* HTTP\/1\.[01]$/.test(line)) unknownMethod(socket);
      else if (/^[A-Z]+ [^/* ][^: ]* HTTP\/1\.[01]$/.test(line)) refuse(socket, 405, { Allow: "CONNECT" });
      else refuse(socket, error.code === "HPE_HEADER_OVERFLOW" ? 431 : 400);
    },
  };
}
