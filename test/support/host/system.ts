import { afterAll } from "vitest";
import { connectorStore } from "../../../lib/azure/connector/store.ts";
import { openTables, type Tables } from "../../../lib/azure/tables/tables.ts";
import type { RequestStore } from "../../../lib/connector/deps.ts";
import { createLog } from "../../../lib/log.ts";
import { instant } from "../../../lib/time.ts";
import { closePeers, type Peers, startPeers } from "../../../local/peers/all.ts";
import { describeSystem } from "../../../local/start/system.ts";
import { type FreshStorage, freshStorage, patient, storageTimeoutMs } from "../storage/fresh-storage.ts";
import { type HostProcess, startHostProcess } from "./host-process.ts";
import { type PausingProxy, startPausingProxy } from "./pausing-proxy.ts";
import { type SharedClock, startSharedClock } from "./shared-clock.ts";

/** Peers in this process before a storage account of their own, and hosts as processes that join them. */
export interface TestSystem {
  readonly peers: Peers;
  /** Of peers, hosts and the test. */
  readonly clock: Pick<SharedClock, "advance">;
  readonly storage: FreshStorage;
  readonly tables: Tables;
  /** The connector's rows, past every proxy. */
  readonly store: RequestStore;
  /** Starts a host. `through`: its tables are reached by this proxy. */
  startHost(options?: {
    readonly settings?: Readonly<Record<string, string>>;
    readonly through?: PausingProxy;
  }): Promise<HostProcess>;
  /** Ends every host that is left, then the peers. */
  close(): Promise<void>;
}

/**
 * Intervals of which a few steps of the clock are the longest; time limits that only what hangs meets; timers that
 * never fire, so that only the calls of a test start jobs.
 */
export const quick = {
  ...patient,
  CRON_PROCESS_SHIPMENT_SCHEDULE: "0 0 0 29 2 *",
  CRON_PROCESS_CREDENTIAL_REQUESTS_SCHEDULE: "0 0 0 29 2 *",
  CRON_DATA_CLEANUP_SCHEDULE: "0 0 0 29 2 *",
  LEASE_SECONDS: "60",
  IDP_TIMEOUT_SECONDS: "30",
  ENROLLMENT_TIMEOUT_SECONDS: "30",
  MAIL_TIMEOUT_SECONDS: "30",
  DELIVERY_TIMEOUT_SECONDS: "40",
  RETRY_MIN_SECONDS: "0.2",
  RETRY_MAX_SECONDS: "1",
  READ_BACK_AFTER_SECONDS: "0.3",
  MAIL_RUNNING_SECONDS: "0.2",
  DUE_STALE_SECONDS: "0.5",
  DUE_ORPHAN_SECONDS: "2",
} as const;

/** For a host that creates nothing and soon reconciles what other hosts have left behind. */
export const reconcileSoon = {
  CREATE_TIMEOUT_SECONDS: "40",
  RECEIVED_MAX_AGE_SECONDS: "41",
  ORDER_INTENT_MAX_AGE_SECONDS: "0",
  DELIVERY_TIMEOUT_SECONDS: "40",
  RECONCILE_AFTER_SECONDS: "40",
} as const;

/**
 * There can be one at a time, because it sets the clock of this process.
 * @param settings of every host, on top of `quick`
 */
export async function startTestSystem(settings: Readonly<Record<string, string>> = {}): Promise<TestSystem> {
  const storage = freshStorage();
  const clock = startSharedClock();
  const peers = await startPeers();
  peers.delivery.settings({ shipAfterMs: 0 });
  const { settings: described, tokens } = await describeSystem(storage, peers);
  const tables = openTables({ connectionString: storage.connectionString, timeoutMs: storageTimeoutMs });
  const store = connectorStore(tables, {
    shipmentsTable,
    now: () => instant(Date.now()),
    log: createLog(() => {}),
  }).requests;
  const hosts: HostProcess[] = [];
  return {
    peers,
    clock,
    storage,
    tables,
    store,
    startHost: async ({ settings: own = {}, through } = {}) => {
      const connectionString = through?.through(storage.connectionString) ?? storage.connectionString;
      const all = { ...described, CLOUD_STORAGE_CONNECTION_STRING: connectionString, ...quick, ...settings, ...own };
      const host = await startHostProcess(tokens.connector, all, clock.path);
      hosts.push(host);
      return host;
    },
    close: async () => {
      await Promise.all(hosts.map(host => host.kill()));
      await closePeers(peers);
      clock.close();
    },
  };
}

/** A system for one test file, and a proxy for the tables of some of its hosts. Both end after the tests of the file. */
export async function systemOfFile(
  settings: Readonly<Record<string, string>> = {},
): Promise<{ readonly system: TestSystem; readonly proxy: PausingProxy }> {
  const system = await startTestSystem(settings);
  const proxy = await startPausingProxy(system.storage.tableUrl);
  afterAll(async () => {
    await proxy.close();
    await system.close();
  });
  return { system, proxy };
}

const shipmentsTable = "fprshipments";
