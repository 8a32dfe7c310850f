import { TableClient, type TableEntityResult } from "@azure/data-tables";
import { closePeers, startPeers } from "../../../local/peers/all.ts";
import { describeSystem } from "../../../local/start/system.ts";
import { type Answer, type HostProcess, startHostProcess } from "../../support/host/host-process.ts";
import type { Limits } from "../../support/host/limits.ts";
import type { PausingProxy } from "../../support/host/pausing-proxy.ts";
import { type FreshStorage, freshStorage } from "../../support/storage/fresh-storage.ts";

/** A host of the authentication server, called as its two kinds of callers do. */
export interface AuthHost {
  readonly process: HostProcess;
  /** Calls the Core API with its token. @param path after `/core` */
  core(method: "GET" | "POST" | "DELETE", path: string, fields?: Fields): Promise<Answer>;
  /** Calls the Client API by POST. @param path after `/client` */
  client(path: string, fields?: Fields, session?: string): Promise<Answer>;
}

type TableRow = TableEntityResult<Record<string, unknown>>;

type Fields = Readonly<Record<string, string>>;

/** Storage and vault of an authentication server, and hosts as processes that join them. */
export interface AuthSystem {
  readonly storage: FreshStorage;
  /** Starts a host. `through`: its tables are reached by this proxy. */
  startHost(options?: { readonly through?: PausingProxy }): Promise<AuthHost>;
  /** All rows of a table, past every host. */
  rows(table: string): Promise<readonly TableRow[]>;
  /** Ends every host that is left, then the peers. */
  close(): Promise<void>;
}

/**
 * @param settings of every host
 * @param options.limits of every host
 * @param options.secrets in the vault, besides those of every local system
 */
export async function startAuthSystem(
  settings: Fields = {},
  { limits = {}, secrets = {} }: { readonly limits?: Limits; readonly secrets?: Fields } = {},
): Promise<AuthSystem> {
  const storage = freshStorage();
  const peers = await startPeers();
  for (const [name, value] of Object.entries(secrets)) peers.vault.set(name, value);
  const { settings: described, tokens } = await describeSystem(storage, peers);
  const hosts: HostProcess[] = [];
  return {
    storage,
    startHost: async ({ through } = {}) => {
      const connectionString = through?.through(storage.connectionString) ?? storage.connectionString;
      const all = { ...described, CLOUD_STORAGE_CONNECTION_STRING: connectionString, ...plain, ...settings };
      const process = await startHostProcess(tokens.core, all, {
        limits: { ...plainLimits, ...limits },
      });
      hosts.push(process);
      return authHost(process);
    },
    rows: async table => {
      const options = { allowInsecureConnection: true };
      const client = TableClient.fromConnectionString(storage.connectionString, table, options);
      return Array.fromAsync(client.listEntities());
    },
    close: async () => {
      await Promise.all(hosts.map(host => host.kill()));
      await closePeers(peers);
    },
  };
}

/** No timer fires in a test. */
const plain = {
  SERVICE_APIS: "core,client",
  CRON_SESSION_CLEANUP_SCHEDULE: "0 0 0 29 2 *",
};

/** No attempt is refused because the machine is slow. */
const plainLimits: Limits = { slotWaitMs: 60_000, throttleReservationMs: 300_000 };

const authHost = (process: HostProcess): AuthHost => ({
  process,
  core: (method, path, fields) => process.call(method, `/core${path}`, fields),
  client: async (path, fields = {}, session) => {
    const response = await fetch(`${process.url}/client${path}`, {
      method: "POST",
      headers: session === undefined ? {} : { "x-service-session": session },
      body: new URLSearchParams(fields),
    });
    return { status: response.status, headers: response.headers, body: await response.json() };
  },
});

/** The session that a login gave. */
export const sessionOf = ({ body }: Answer): string => (body as { session: string }).session;

/** A good password of every user of these tests. */
export const password = "correct horse battery";

/** How many answers there were of each status. */
export const statuses = (answers: readonly Answer[]): Readonly<Record<number, number>> =>
  Object.fromEntries([...Map.groupBy(answers, ({ status }) => status)].map(([status, some]) => [status, some.length]));
