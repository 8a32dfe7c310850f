import { type ChildProcess, fork } from "node:child_process";
import { once } from "node:events";
import { fileURLToPath } from "node:url";
import { type Storage, startStorage } from "../../local/peers/storage/storage.ts";
import type { Command, Usage } from "./host.ts";
import type { DescribedPeers, Registrations } from "./peers.ts";

/** A host in a process of its own, on a storage account of its own. */
export interface BenchHost {
  readonly url: string;
  /** Calls it. Throws where the answer is none of these. @returns milliseconds */
  call(method: "GET" | "POST", path: string, good: readonly number[], body?: unknown): Promise<number>;
  usage(): Promise<Usage>;
  /** Its memory while it worked, garbage included, and what it holds afterwards that is none: bytes. */
  grown(work: () => Promise<unknown>): Promise<{ readonly idle: Usage; readonly most: number; readonly after: Usage }>;
  /** Writes a CPU profile of what it does meanwhile. */
  profiled<T>(file: string, work: () => Promise<T>): Promise<T>;
}

/** Peers in one process, storage in another, and hosts. */
export interface Bench {
  readonly storage: Storage;
  readonly host: BenchHost;
  /** A further host on the same storage, which has done nothing yet. */
  another(): Promise<BenchHost>;
  /** Returns the registrations at the IdP since the last question. */
  registrations(): Promise<Registrations>;
  /** Tokens of callers. */
  readonly tokens: { readonly connector: string; readonly core: string };
  stop(): Promise<void>;
}

const account = { name: "bench0", key: Buffer.from("bench0".padEnd(32)).toString("base64") };

/** Timers that never fire: only calls start jobs. */
const quiet = {
  SERVICE_APIS: "connector",
  CRON_PROCESS_SHIPMENT_SCHEDULE: "0 0 0 29 2 *",
  CRON_PROCESS_CREDENTIAL_REQUESTS_SCHEDULE: "0 0 0 29 2 *",
  CRON_DATA_CLEANUP_SCHEDULE: "0 0 0 29 2 *",
};

export interface BenchOptions {
  /** Of every host. */
  readonly nodeArguments?: readonly string[];
  /** The time in which the IdP answers a registration. */
  readonly idpMs?: number;
  /** Further settings of every host. */
  readonly settings?: Readonly<Record<string, string>>;
  /** The highest number of requests that a job works on at once. By default the app's. */
  readonly callsAtOnce?: number | undefined;
  /** Starts a receiver of events. */
  readonly hasSink?: boolean;
}

export async function startBench({
  nodeArguments = [],
  idpMs = 0,
  settings = {},
  callsAtOnce,
  hasSink = false,
}: BenchOptions = {}): Promise<Bench> {
  const storage = await startStorage({ accounts: [account] });
  const { blobUrl, tableUrl } = storage;
  const children: ChildProcess[] = [];
  const start = (file: URL, env: NodeJS.ProcessEnv, execArgv: readonly string[] = []) => {
    const child = fork(fileURLToPath(file), {
      env: { ...process.env, ...env },
      execArgv: [...execArgv],
      // Its output is discarded.
      stdio: ["ignore", "ignore", "inherit", "ipc"],
    });
    children.push(child);
    return child;
  };
  const connectionString = storage.connectionStringOf(account.name);
  const peers = start(new URL("./peers.ts", import.meta.url), {
    BENCH_STORAGE: connectionString,
    BENCH_TABLES: tableUrl,
    BENCH_BLOBS: blobUrl,
    BENCH_IDP_MS: String(idpMs),
    BENCH_SINK: String(hasSink),
  });
  const [described] = (await once(peers, "message")) as [DescribedPeers];
  const startHost = async (): Promise<BenchHost> => {
    const env = {
      ...described.settings,
      ...quiet,
      ...settings,
      CLOUD_STORAGE_CONNECTION_STRING: connectionString,
      // Jobs take as long as they need.
      BENCH_LIMITS: JSON.stringify({ jobOnDemandMs: 3_600_000, callsAtOnce }),
    };
    return openHost(
      start(new URL("./host.ts", import.meta.url), env, ["--expose-gc", ...nodeArguments]),
      described.token,
    );
  };
  const host = await startHost();
  return {
    storage,
    host,
    tokens: { connector: described.token, core: described.coreToken },
    registrations: async () => {
      peers.send("registrations");
      const [answer] = await once(peers, "message");
      return answer as Registrations;
    },
    another: startHost,
    stop: async () => {
      // The host before the peers that it calls.
      for (const child of children.toReversed()) {
        const exited = once(child, "exit");
        child.send("stop");
        await exited;
      }
      await storage.close();
    },
  };
}

async function openHost(child: ChildProcess, token: string): Promise<BenchHost> {
  const ask = async <T>(command: Command): Promise<T> => {
    child.send(command);
    const [answer] = await once(child, "message");
    return answer as T;
  };
  const [{ url }] = (await once(child, "message")) as [{ url: string }];
  const headers = { authorization: `Bearer ${token}`, "content-type": "application/json" };
  return {
    url,
    call: async (method, path, good, body) => {
      const began = performance.now();
      const response = await fetch(url + path, {
        method,
        headers,
        ...(body !== undefined && { body: JSON.stringify(body) }),
      });
      const text = await response.text();
      if (!good.includes(response.status)) throw new Error(`${path} answered ${response.status}: ${text}`);
      return performance.now() - began;
    },
    usage: () => ask("usage"),
    grown: async work => {
      const idle = await ask<Usage>("watch");
      await work();
      const most = await ask<number>("watched");
      const after = await ask<Usage>("watch");
      await ask<number>("watched");
      return { idle, most, after };
    },
    profiled: async (file, work) => {
      await ask("profile");
      const result = await work();
      await ask({ profileTo: file });
      return result;
    },
  };
}
