import { Agent, request as open } from "node:http";
import { availableParallelism, cpus, loadavg } from "node:os";
import { buffer } from "node:stream/consumers";

export interface Sent {
  readonly status: number;
  readonly text: string;
  readonly ms: number;
  /** Seconds of `Retry-After`; 0 if absent. */
  readonly retryAfterSeconds: number;
}

export interface Request {
  readonly method?: "GET" | "POST";
  readonly headers?: Readonly<Record<string, string>>;
  /** Sent as a form. */
  readonly form?: Readonly<Record<string, string>>;
  /** Sent as JSON. */
  readonly json?: object;
}

export type Send = (path: string, request?: Request) => Promise<Sent>;

/** A caller with kept connections, which costs less than `fetch` and so takes less from the host on the same machine. */
export function caller(url: string): { readonly send: Send; close(): void } {
  // By default an agent closes idle connections beyond 256: a flood would then open them again, all at once.
  const agent = new Agent({ keepAlive: true, maxFreeSockets: Number.POSITIVE_INFINITY });
  const { hostname, port } = new URL(url);
  const send: Send = (path, { method = "GET", headers = {}, form, json } = {}) =>
    new Promise((resolve, reject) => {
      const began = performance.now();
      const body = json === undefined ? new URLSearchParams(form).toString() : JSON.stringify(json);
      const type = json === undefined ? "application/x-www-form-urlencoded" : "application/json";
      const bodyHeaders = body === "" ? {} : { "content-type": type };
      const all = { ...bodyHeaders, ...headers, "content-length": String(Buffer.byteLength(body)) };
      open({ hostname, port, path, method, agent, headers: all }, response => {
        buffer(response).then(bytes => {
          const ms = performance.now() - began;
          const retryAfterSeconds = Number(response.headers["retry-after"] ?? 0);
          resolve({ status: response.statusCode ?? 0, text: bytes.toString(), ms, retryAfterSeconds });
        }, reject);
      })
        .once("error", reject)
        .end(body);
    });
  return { send, close: () => agent.destroy() };
}

/** Calls again and again, each connection after its own answer, until the time is over. @returns milliseconds of each call */
export async function load(
  connections: number,
  durationMs: number,
  call: (connection: number) => Promise<Sent>,
): Promise<readonly number[]> {
  const end = performance.now() + durationMs;
  const times: number[] = [];
  const work = async (_: unknown, connection: number) => {
    while (performance.now() < end) {
      const { status, text, ms } = await call(connection);
      if (status !== 200) throw new Error(`answered ${status}: ${text}`);
      times.push(ms);
    }
  };
  await Promise.all(Array.from({ length: connections }, work));
  return times;
}

/** The value below which that share of the values lies. */
export function quantile(values: readonly number[], share: number): number {
  const sorted = [...values].sort((one, other) => one - other);
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? Number.NaN;
}

/** What a figure has to be read with. */
export function machine(): string {
  const load = loadavg()[0]?.toFixed(1) ?? "";
  return `${availableParallelism()} cores (${cpus()[0]?.model.trim() ?? ""}), Node ${process.versions.node}, load ${load}`;
}

/** A table in Markdown; all columns but the first to the right. */
export function table(rows: readonly (readonly string[])[]): string {
  const widths = (rows[0] ?? []).map((_, column) => Math.max(...rows.map(row => row[column]?.length ?? 0)));
  const line = (row: readonly string[]) =>
    `| ${row.map((cell, column) => (column === 0 ? cell.padEnd(widths[0] ?? 0) : cell.padStart(widths[column] ?? 0))).join(" | ")} |`;
  const [head = [], ...rest] = rows;
  const rule = `|${widths.map((width, column) => (column === 0 ? "-".repeat(width + 2) : `${"-".repeat(width + 1)}:`)).join("|")}|`;
  return [line(head), rule, ...rest.map(line)].join("\n");
}
