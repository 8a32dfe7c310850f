// Development tool: from a request to its answer, as Azure's host gives it.
import { type IncomingMessage, STATUS_CODES } from "node:http";
import type { Socket } from "node:net";
import type { Admin } from "./admin.ts";
import { readFunctionBody, readTarget, requestLineLimit, type Target, toRpcRequest } from "./http-request.ts";
import { type Answer, toAnswer } from "./http-response.ts";
import type { Invoke } from "./invoke.ts";
import { type LevelOf, reaches } from "./keys.ts";
import { routedPath } from "./route.ts";
import type { HttpFunction } from "./served-functions.ts";

interface ServeDeps {
  /** In the order in which their routes are tried. */
  readonly functions: readonly HttpFunction[];
  readonly invoke: Invoke;
  readonly levelOf: LevelOf;
  readonly admin: Admin;
}

/** Answers a request; rejects only when the caller goes away while sending. */
export type Serve = (request: IncomingMessage) => Promise<Answer>;

export function createServe({ functions, invoke, levelOf, admin }: ServeDeps): Serve {
  const callFunction = async (request: IncomingMessage, target: Target, path: string): Promise<Answer> => {
    const found = findRoute(functions, request.method, path);
    if (found === undefined) return path === "/" && request.method === "GET" ? homePage : { status: 404 };
    const [one, parameters] = found;
    const level = levelOf(request, target.rawQuery, one.name);
    if (!reaches(level, one.authLevel)) return { status: 401 };
    if (one.disabled) return { status: 404 };
    const body = await readFunctionBody(request);
    if (body === undefined) return { status: 500, headers: { connection: "close" } };
    try {
      const http = toRpcRequest(request, target, parameters, body);
      return toAnswer(await invoke(one, { http }, "This function was called by an HTTP request."));
    } catch {
      return { status: 500 };
    }
  };

  return async request => {
    const requestLine = `${request.method} ${request.url} HTTP/1.1`;
    if (requestLine.length > requestLineLimit) return { status: 414, headers: { connection: "close" } };
    const target = readTarget(request);
    if (target === undefined) return { status: 400, headers: { connection: "close" } };
    const path = routedPath(target.rawPath);
    if (!/^\/admin\//i.test(path)) return callFunction(request, target, path);
    return admin(request, path, levelOf(request, target.rawQuery));
  };
}

/** The method belongs to the match: a wrong one is as good as another path. */
function findRoute(functions: readonly HttpFunction[], method: string | undefined, path: string) {
  for (const one of functions) {
    const parameters = one.methods.includes(method ?? "") ? one.route.match(path) : undefined;
    if (parameters !== undefined) return [one, parameters] as const;
  }
  return undefined;
}

const homePage: Answer = {
  status: 200,
  headers: { "content-type": "text/html; charset=utf-8" },
  body: Buffer.from("<!doctype html><title>Local Functions host</title>The local Functions host is up and running."),
};

/** Answers what the parser does not take. A method that it does not know is one that no function lists. */
export function refuseMalformed({ code }: NodeJS.ErrnoException, socket: Socket): void {
  if (code === "ECONNRESET" || !socket.writable) {
    socket.destroy();
    return;
  }
  const status = { HPE_INVALID_METHOD: 404, HPE_HEADER_OVERFLOW: 431 }[code ?? ""] ?? 400;
  socket.end(`HTTP/1.1 ${status} ${STATUS_CODES[status]}\r\nContent-Length: 0\r\nConnection: close\r\n\r\n`);
}
