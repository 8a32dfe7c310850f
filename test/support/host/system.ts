import { type RequestStore, requestStore } from "../../../lib/connector/storage/requests.table.ts";
import { openTables, type Tables } from "../../../lib/platform/azure/tables.ts";
import { createLog } from "../../../lib/platform/log.ts";
import { instant } from "../../../lib/platform/time.ts";
import { closePeers, type Peers, startPeers } from "../../../local/peers/all.ts";
import { describeSystem } from "../../../local/start/system.ts";
import { type FreshStorage, freshStorage, storageTimeoutMs } from "../storage/fresh-storage.ts";
import { type HostProcess, startHostProcess } from "./host-process.ts";
import type { Limits } from "./limits.ts";
import type { PausingProxy } from "./pausing-proxy.ts";
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
    readonly limits?: Limits;
    readonly through?: PausingProxy;
  }): Promise<HostProcess>;
  /** Ends every host that is left, then the peers. */
  close(): Promise<void>;
}

/** Timers that never fire, so that only the calls of a test start jobs. */
export const quick = {
  CRON_PROCESS_SHIPMENT_SCHEDULE: "0 0 0 29 2 *",
  CRON_PROCESS_CREDENTIAL_REQUESTS_SCHEDULE: "0 0 0 29 2 *",
  CRON_DATA_CLEANUP_SCHEDULE: "0 0 0 29 2 *",
} as const;

/** Intervals of which a few steps of the clock are the longest; time limits that only what hangs meets. */
const quickLimits: Limits = {
  leaseMs: 60_000,
  deliveryCallMs: 40_000,
  retry: { minMs: 200, maxMs: 1000 },
  readBackAfterMs: 300,
  mailRunningMs: 200,
  staleRowMs: 500,
  orphanRowMs: 2000,
};

/** For a host that creates nothing and soon reconciles what other hosts have left behind. */
export const reconcileSoon: Limits = {
  createMs: 40_000,
  receivedMaxAgeMs: 41_000,
  orderIntentMaxAgeMs: 0,
  deliveryCallMs: 40_000,
  reconcileAfterMs: 40_000,
};

/**
 * There can be one at a time, because it sets the clock of this process.
 * @param settings of every host, on top of `quick`
 * @param limits of every host, on top of `quickLimits`
 */
export async function startTestSystem(
  settings: Readonly<Record<string, string>> = {},
  limits: Limits = {},
): Promise<TestSystem> {
  const storage = freshStorage();
  const clock = startSharedClock();
  const peers = await startPeers();
  peers.delivery.settings({ shipAfterMs: 0 });
  const { settings: described, tokens } = await describeSystem(storage, peers);
  const tables = openTables({ connectionString: storage.connectionString, timeoutMs: storageTimeoutMs });
  const store = requestStore(tables, {
    shipmentsTable,
    now: () => instant(Date.now()),
    log: createLog(() => {}),
  });
  const hosts: HostProcess[] = [];
  return {
    peers,
    clock,
    storage,
    tables,
    store,
    startHost: async ({ settings: own = {}, limits: ownLimits, through } = {}) => {
      const connectionString = through?.through(storage.connectionString) ?? storage.connectionString;
      const all = { ...described, CLOUD_STORAGE_CONNECTION_STRING: connectionString, ...quick, ...settings, ...own };
      const host = await startHostProcess(tokens.connector, all, {
        clock: clock.path,
        limits: { ...quickLimits, ...limits, ...ownLimits },
      });
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

const shipmentsTable = "fprshipments";
