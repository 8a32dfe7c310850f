// Development tool: the few administration endpoints of Azure's host that this project uses.
import type { IncomingMessage } from "node:http";
import { readBody } from "./http/request.ts";
import type { Answer } from "./http/response.ts";
import type { ServedFunction } from "./served-functions.ts";

interface AdminDeps {
  readonly find: (name: string) => ServedFunction | undefined;
  /** Starts a function in the background. */
  readonly start: (served: ServedFunction) => void;
  /** In bytes. */
  readonly bodyLimit: number;
}

/** @param isMaster whether the request has the master key */
export type Admin = (request: IncomingMessage, path: string, isMaster: boolean) => Promise<Answer>;

/**
 * Answers everything below `/admin/` and `/runtime/`: a ping, and the start of a timer, a disabled one too. The start of an HTTP function
 * is accepted as well, but then fails: the host has no request to give to it.
 */
export function createAdmin({ find, start, bodyLimit }: AdminDeps): Admin {
  return async (request, path, isMaster) => {
    if (/^\/admin\/host\/ping\/?$/i.test(path) && ["GET", "POST"].includes(request.method ?? "")) {
      return { status: 200, headers: { "cache-control": "no-store,no-cache", pragma: "no-cache" } };
    }
    const name = request.method === "POST" ? /^\/admin\/functions\/([^/]+)\/?$/i.exec(path)?.[1] : undefined;
    if (name === undefined) return { status: 404 };
    if (!isMaster) return { status: 401, headers: { "www-authenticate": "Bearer" } };
    if (!/^(?:application|text)\/(?:.+\+)?json\b/i.test(request.headers["content-type"] ?? "")) return { status: 415 };
    if (!isObject(await readBody(request, bodyLimit))) return { status: 400 };
    const served = find(name);
    if (served === undefined) return { status: 404 };
    start(served);
    return { status: 202 };
  };
}

function isObject(bytes: Uint8Array | undefined): boolean {
  try {
    const value: unknown = JSON.parse(new TextDecoder("utf-8", { fatal: true }).decode(bytes));
    return typeof value === "object" && value !== null && !Array.isArray(value);
  } catch {
    return false;
  }
}
