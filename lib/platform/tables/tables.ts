import type { TableClient, TableServiceClientOptions } from "@azure/data-tables";
import {
  callService,
  isLocalService,
  isServiceError,
  type Policies,
  rejectNonJson,
  retryOptions,
  type ServiceAccess,
} from "../azure/services.ts";
import { checkedEtag, type Entity, etagOf, isKey, type Row, toEntity, toRow } from "./entity.ts";
import { type Filter, type RowPage, readRowPage, type Scan } from "./query.ts";
import { type Action, conditionalRemovals, retryableTransactions, submit } from "./transaction.ts";

export type { Entity, Row } from "./entity.ts";
export type { Filter, RowPage } from "./query.ts";
export type { Action } from "./transaction.ts";

/**
 * A table. Every call ends within the time limit, retries included, or throws Fault `unavailable`. A write that ends
 * with this Fault may have succeeded.
 *
 * A write whose response is lost is sent again, so its condition may fail because of its own first attempt. After
 * `undefined` or `false` the caller must read the row again; any other result is certain. If another writer deletes or
 * recreates the row between both attempts, an `insert` may recreate it, and a `remove` without an ETag may delete it
 * again.
 */
export interface Table {
  get(partitionKey: string, rowKey: string): Promise<Row | undefined>;
  /** Inserts a row. Returns its ETag; undefined if the row exists. */
  insert(entity: Entity): Promise<string | undefined>;
  /** Replaces a row by its ETag. Returns the new ETag; undefined if the row was changed or removed. */
  replace(entity: Entity, etag: string): Promise<string | undefined>;
  /** Writes the given properties by the row's ETag; the others stay. Returns as `replace` does. */
  merge(entity: Entity, etag: string): Promise<string | undefined>;
  /** Writes the given properties, if the row exists. Returns its new ETag; undefined if it does not exist. */
  mergeExisting(entity: Entity): Promise<string | undefined>;
  /** Inserts or replaces a row without a condition. Returns its ETag. */
  upsert(entity: Entity): Promise<string>;
  /** Removes a row. Returns false if it does not exist or, with an ETag, if it was changed. */
  remove(partitionKey: string, rowKey: string, etag?: string): Promise<boolean>;
  /**
   * Runs all actions or none: at most 100, on different rows of one partition.
   * Returns the ETags in the order of the actions, undefined for removals; undefined if a condition failed.
   */
  transact(partitionKey: string, actions: readonly Action[]): Promise<readonly (string | undefined)[] | undefined>;
  /** Yields rows sorted by row key. Reads further pages as needed, each within the time limit. */
  query(filter: Filter, options?: QueryOptions): AsyncIterable<Row>;
  /** Yields the rows of several partitions like `query`. For maintenance, clean-up and rare calls of administrators. */
  scan(range?: Scan, options?: QueryOptions): AsyncIterable<Row>;
  queryPage(filter: Filter | Scan, options: Parameters<typeof readRowPage>[2]): Promise<RowPage>;
}

interface QueryOptions {
  /** Maximum number of rows. */
  readonly limit?: number;
  readonly select?: readonly string[];
}

export interface Tables {
  table(name: string): Table;
  /** Creates the table if it does not exist. Not for calls of users. */
  createTable(name: string): Promise<void>;
}

type TablesOptions = ServiceAccess & {
  /** Time limit of one call or one page, retries included. */
  readonly timeoutMs: number;
  /** Added to the request pipeline. */
  readonly policies?: Policies;
};

const service = "Storage";

/** Table storage. One SDK client a table; the SDK is loaded at the first call. */
export function openTables(options: TablesOptions): Tables {
  const { timeoutMs, policies = [] } = options;
  const clientOptions: TableServiceClientOptions = {
    retryOptions,
    additionalPolicies: [conditionalRemovals, retryableTransactions, rejectNonJson(service, timeoutMs), ...policies],
  };
  const clients = new Map<string, Promise<TableClient>>();
  const clientOf = (name: string) => {
    const client = clients.get(name) ?? openClient(options, name, clientOptions);
    clients.set(name, client);
    return client;
  };
  return {
    table: name => tableOf(() => clientOf(name), timeoutMs),
    createTable: name =>
      callService(service, timeoutMs, async abortSignal => (await clientOf(name)).createTable({ abortSignal })),
  };
}

async function openClient(
  access: ServiceAccess,
  name: string,
  options: TableServiceClientOptions,
): Promise<TableClient> {
  const { TableClient } = await import("@azure/data-tables");
  const client =
    "connectionString" in access
      ? TableClient.fromConnectionString(access.connectionString, name, { ...options, allowInsecureConnection: true })
      : new TableClient(access.endpoint, name, access.credential, options);
  // Throws for http to another host, which a connection string can name.
  isLocalService(client.url);
  return client;
}

function tableOf(open: () => Promise<TableClient>, timeoutMs: number): Table {
  type Work<T> = (client: TableClient, abortSignal: AbortSignal) => Promise<T>;
  const call = <T>(work: Work<T>) =>
    callService(service, timeoutMs, async abortSignal => work(await open(), abortSignal));

  /** Makes a call. Returns undefined if it fails with one of the expected conditions. */
  const callUnless = async <T>(expected: readonly (keyof typeof conditions)[], work: Work<T>) => {
    try {
      return await call(work);
    } catch (error) {
      const code = codeOf(error);
      if (code !== undefined && expected.some(condition => conditions[condition].includes(code))) return undefined;
      throw error;
    }
  };

  const update = (mode: "Replace" | "Merge", entity: Entity, etag: string) =>
    callUnless(["changed", "missing"], async (client, abortSignal) =>
      etagOf(await client.updateEntity(toEntity(entity), mode, { etag, abortSignal })),
    );

  const queryPage = (filter: Filter | Scan, options: Parameters<typeof readRowPage>[2]) =>
    call((client, abortSignal) => readRowPage(client, filter, options, abortSignal));

  async function* rows(filter: Filter | Scan, { limit = Number.POSITIVE_INFINITY, select }: QueryOptions = {}) {
    let left = limit;
    let continuation: string | undefined;
    while (left > 0) {
      const page = await queryPage(filter, { top: Math.min(left, 1000), continuation, select });
      yield* page.rows;
      left -= page.rows.length;
      continuation = page.continuation;
      if (continuation === undefined) return;
    }
  }

  return {
    get: async (partitionKey, rowKey) =>
      isKey(partitionKey) && isKey(rowKey)
        ? callUnless(["missing"], async (client, abortSignal) =>
            toRow(await client.getEntity(partitionKey, rowKey, { abortSignal })),
          )
        : undefined,
    insert: entity =>
      callUnless(["exists"], async (client, abortSignal) =>
        etagOf(await client.createEntity(toEntity(entity), { abortSignal })),
      ),
    replace: async (entity, etag) => update("Replace", entity, checkedEtag(etag)),
    merge: async (entity, etag) => update("Merge", entity, checkedEtag(etag)),
    mergeExisting: entity => update("Merge", entity, "*"),
    upsert: entity =>
      call(async (client, abortSignal) =>
        etagOf(await client.upsertEntity(toEntity(entity), "Replace", { abortSignal })),
      ),
    remove: async (partitionKey, rowKey, etag) => {
      if (!isKey(partitionKey) || !isKey(rowKey)) return false;
      const condition = etag === undefined ? {} : { etag: checkedEtag(etag) };
      const done = await callUnless(["changed", "missing"], (client, abortSignal) =>
        client.deleteEntity(partitionKey, rowKey, { ...condition, abortSignal }),
      );
      return done !== undefined;
    },
    transact: async (partitionKey, actions) =>
      actions.length === 0
        ? []
        : callUnless(["changed", "missing", "exists"], (client, abortSignal) =>
            submit(client, partitionKey, actions, abortSignal),
          ),
    query: rows,
    scan: (range = {}, options) => rows(range, options),
    queryPage,
  };
}

/** Error codes of failed conditions. A missing table is not one of them, because it is an error of the deployment. */
const conditions = {
  missing: ["ResourceNotFound", "EntityNotFound"],
  exists: ["EntityAlreadyExists"],
  changed: ["UpdateConditionNotSatisfied", "ConditionNotMet"],
};

/** Returns the error code: the SDK has that of a transaction in `code`, that of other calls in `details`. */
function codeOf(error: unknown): string | undefined {
  if (!isServiceError(error)) return undefined;
  const { details } = error as { details?: { odataError?: { code?: string } } };
  return details?.odataError?.code ?? error.code;
}
