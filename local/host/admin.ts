// Development tool: the few administration endpoints of Azure's host that this project uses.
import { randomUUID } from "node:crypto";
import type { IncomingMessage } from "node:http";
import { readBody } from "./http/request.ts";
import type { Answer } from "./http/response.ts";
import type { AuthLevel, ServedFunction } from "./served-functions.ts";

interface AdminDeps {
  readonly find: (name: string) => ServedFunction | undefined;
  /** Starts a function in the background. */
  readonly start: (served: ServedFunction) => void;
  /** In bytes. */
  readonly bodyLimit: number;
}

export type Admin = (request: IncomingMessage, path: string, level: AuthLevel) => Promise<Answer>;

/**
 * Answers everything below `/admin/` and `/runtime/`. A timer can be started here, a disabled one too. The start of an HTTP function is
 * accepted as well, but then fails: the host has no request to give to it.
 */
export function createAdmin({ find, start, bodyLimit }: AdminDeps): Admin {
  const id = randomUUID();

  const invoke = async (request: IncomingMessage, name: string): Promise<Answer> => {
    if (!/^(?:application|text)\/(?:.+\+)?json\b/i.test(request.headers["content-type"] ?? "")) return { status: 415 };
    if (!isObject(await readBody(request, bodyLimit))) return { status: 400 };
    const served = find(name);
    if (served === undefined) return { status: 404 };
    start(served);
    return { status: 202 };
  };

  return async (request, path, level) => {
    if (/^\/admin\/host\/ping\/?$/i.test(path) && ["GET", "POST"].includes(request.method ?? "")) {
      return { status: 200, headers: { "cache-control": "no-store,no-cache", pragma: "no-cache" } };
    }
    const functionName = request.method === "POST" ? /^\/admin\/functions\/([^/]+)\/?$/i.exec(path)?.[1] : undefined;
    const isStatus = request.method === "GET" && /^\/admin\/host\/status\/?$/i.test(path);
    if (functionName === undefined && !isStatus && !(request.method === "GET" && protectedOnly.test(path)))
      return { status: 404 };
    if (level === "anonymous") return { status: 401, headers: { "www-authenticate": "Bearer" } };
    if (level === "function") return { status: 403 };
    if (isStatus) return json(hostStatus(id));
    return functionName === undefined ? { status: 404 } : invoke(request, functionName);
  };
}

/** The real host has more below these; this host only asks for the key. */
const protectedOnly = /^\/(?:admin\/functions(?:\/[^/]+)?|runtime\/webhooks\/[^/]+)\/?$/i;

function isObject(bytes: Uint8Array | undefined): boolean {
  try {
    const value: unknown = JSON.parse(new TextDecoder("utf-8", { fatal: true }).decode(bytes));
    return typeof value === "object" && value !== null && !Array.isArray(value);
  } catch {
    return false;
  }
}

const hostStatus = (id: string) => ({
  id,
  state: "Running",
  version: "4.1037.0.0",
  versionDetails: "4.1037.0",
  platformVersion: "",
  instanceId: "",
  computerName: "",
  processUptime: Math.round(process.uptime() * 1000),
  functionAppContentEditingState: "Unknown",
});

function json(value: unknown): Answer {
  const body = Buffer.from(JSON.stringify(value));
  const headers = { "content-type": "application/json; charset=utf-8", "content-length": String(body.length) };
  return { status: 200, headers, body };
}
