// Development tool: the few administration endpoints of Azure's host that this project uses.
import { randomUUID } from "node:crypto";
import type { IncomingMessage } from "node:http";
import type { RpcInput } from "./core-contract.ts";
import { readBody } from "./http/request.ts";
import type { Answer } from "./http/response.ts";
import type { AuthLevel, ServedFunction } from "./served-functions.ts";

interface AdminDeps {
  readonly find: (name: string) => ServedFunction | undefined;
  /** Starts a function in the background. */
  readonly start: (served: ServedFunction, input: string | undefined) => void;
  /** In bytes. */
  readonly bodyLimit: number;
}

export type Admin = (request: IncomingMessage, path: string, level: AuthLevel) => Promise<Answer>;

/** Answers everything below `/admin/`. Any function can be started here, a disabled one too. */
export function createAdmin({ find, start, bodyLimit }: AdminDeps): Admin {
  const id = randomUUID();

  const invoke = async (request: IncomingMessage, name: string): Promise<Answer> => {
    if (!/^(?:application|text)\/(?:.+\+)?json\b/i.test(request.headers["content-type"] ?? "")) return { status: 415 };
    const invocation = parseObject(await readBody(request, bodyLimit));
    if (invocation === undefined) return { status: 400 };
    const served = find(name);
    if (served === undefined) return { status: 404 };
    const { input } = invocation;
    start(served, typeof input === "string" || input === undefined ? input : JSON.stringify(input));
    return { status: 202 };
  };

  return async (request, path, level) => {
    if (/^\/admin\/host\/ping\/?$/i.test(path) && ["GET", "POST"].includes(request.method ?? "")) {
      return { status: 200, headers: { "cache-control": "no-store,no-cache" } };
    }
    const functionName = request.method === "POST" ? /^\/admin\/functions\/([^/]+)\/?$/i.exec(path)?.[1] : undefined;
    const isStatus = request.method === "GET" && /^\/admin\/host\/status\/?$/i.test(path);
    if (functionName === undefined && !isStatus) return { status: 404 };
    if (level === "anonymous") return { status: 401, headers: { "www-authenticate": "Bearer" } };
    if (level === "function") return { status: 403 };
    return functionName === undefined ? json(hostStatus(id)) : invoke(request, functionName);
  };
}

/** An HTTP function that is started here gets the given text as the body of a POST. */
export const adminInput = ({ name }: ServedFunction, input = ""): RpcInput => ({
  http: {
    method: "POST",
    url: `http://127.0.0.1/${name}`,
    nullableHeaders: {},
    nullableQuery: {},
    nullableParams: {},
    body: { bytes: Buffer.from(input) },
  },
});

function parseObject(bytes: Uint8Array | undefined): { readonly input?: unknown } | undefined {
  try {
    const value: unknown = JSON.parse(new TextDecoder("utf-8", { fatal: true }).decode(bytes));
    return typeof value === "object" && value !== null && !Array.isArray(value) ? value : undefined;
  } catch {
    return undefined;
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

const json = (value: unknown): Answer => ({
  status: 200,
  headers: { "content-type": "application/json; charset=utf-8" },
  body: Buffer.from(JSON.stringify(value)),
});
