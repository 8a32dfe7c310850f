import { type ChildProcess, spawn, spawnSync } from "node:child_process";
import { homedir } from "node:os";
import { join } from "node:path";
import * as z from "zod";

/** What Bicep's compiler says, by line of the template. */
export interface Compiled {
  readonly faults: readonly string[];
  /** The template for Azure, as JSON. */
  readonly template: string;
}

/** Bicep's compiler in a process of its own: its start takes longer than its work. */
export interface Compiler {
  compile(path: string): Promise<Compiled>;
  format(path: string): Promise<string>;
  /** Returns the resources of a parameter file as Azure would work them out, as JSON. */
  snapshot(path: string): Promise<string>;
  stop(): void;
}

/** Where a snapshot is deployed to. */
export const place = {
  tenantId: "22222222-2222-4222-8222-222222222222",
  subscriptionId: "11111111-1111-4111-8111-111111111111",
  resourceGroup: "rg-sample",
  location: "swedencentral",
  deploymentName: "main",
} as const;

/**
 * Returns the command of the compiler: BICEP, `bicep` on the PATH, or the one that `az bicep install` has put in place. Undefined
 * if there is none.
 */
export function findCompiler(environment = process.env): string | undefined {
  const candidates = environment.BICEP
    ? [environment.BICEP]
    : ["bicep", join(environment.AZURE_CONFIG_DIR ?? join(environment.HOME ?? homedir(), ".azure"), "bin", "bicep")];
  return candidates.find(command => spawnSync(command, ["--version"], { env: environment }).status === 0);
}

const diagnostic = z.object({
  source: z.string(),
  range: z.object({ start: z.object({ line: z.int() }) }),
  level: z.string(),
  code: z.string(),
  message: z.string(),
});
const compileResult = z.object({ diagnostics: z.array(diagnostic), contents: z.string().nullish() });

/** Starts the compiler. */
export function openCompiler(command: string): Compiler {
  const child = spawn(command, ["jsonrpc", "--stdio"], { stdio: ["pipe", "pipe", "inherit"] });
  const call = callsOf(child);
  return {
    async compile(path) {
      const { diagnostics, contents } = compileResult.parse(await call("bicep/compile", { path }));
      const faults = diagnostics.map(
        ({ source, range, level, code, message }) => `${source}:${range.start.line + 1}: ${level} ${code}: ${message}`,
      );
      return { faults, template: contents ?? "" };
    },
    format: async path => z.object({ contents: z.string() }).parse(await call("bicep/format", { path })).contents,
    snapshot: async path =>
      z
        .object({ snapshot: z.string() })
        .parse(await call("bicep/getSnapshot", { path, metadata: place, externalInputs: [] })).snapshot,
    stop: () => void child.kill(),
  };
}

const answer = z.object({
  id: z.int(),
  result: z.unknown().optional(),
  error: z.object({ message: z.string() }).optional(),
});

/** JSON-RPC over a process: a header with the length of each message in bytes. */
function callsOf(child: ChildProcess): (method: string, params: object) => Promise<unknown> {
  const waiting = new Map<number, PromiseWithResolvers<unknown>>();
  let received = Buffer.alloc(0);
  let ended: Error | undefined;
  child.stdout?.on("data", (chunk: Buffer) => {
    received = Buffer.concat([received, chunk]);
    for (;;) {
      const end = received.indexOf("\r\n\r\n");
      const [, length] = /Content-Length: (\d+)/i.exec(received.subarray(0, Math.max(end, 0)).toString()) ?? [];
      if (length === undefined || received.length < end + 4 + Number(length)) return;
      const body = received.subarray(end + 4, end + 4 + Number(length)).toString();
      received = received.subarray(end + 4 + Number(length));
      const { id, result, error } = answer.parse(JSON.parse(body));
      const waits = waiting.get(id);
      if (error === undefined) waits?.resolve(result);
      else waits?.reject(new Error(error.message));
    }
  });
  const fail = (error: Error) => {
    for (const { reject } of waiting.values()) reject(error);
  };
  child.on("error", fail);
  // A compiler that has ended takes no more calls: its exit fails them.
  child.stdin?.on("error", () => {});
  child.on("close", code => {
    ended = new Error(`The compiler ended with ${code}.`);
    fail(ended);
  });
  return (method, params) => {
    if (ended !== undefined) return Promise.reject(ended);
    const waits = Promise.withResolvers<unknown>();
    const id = waiting.size + 1;
    waiting.set(id, waits);
    const body = JSON.stringify({ jsonrpc: "2.0", id, method, params });
    child.stdin?.write(`Content-Length: ${Buffer.byteLength(body)}\r\n\r\n${body}`);
    return waits.promise;
  };
}
