import type { TableClient, TableServiceClientOptions } from "@azure/data-tables";
import {
  checkedEtag,
  type Entity,
  etagOf,
  type Filter,
  isKey,
  type Row,
  readRowPage,
  type Scan,
  toEntity,
  toRow,
} from "./rows.ts";
import {
  isLocalService,
  isServiceError,
  type Policies,
  rejectNonJson,
  retryOptions,
  type ServiceAccess,
  serviceCaller,
} from "./services.ts";
import { type Action, conditionalRemovals, retryableTransactions, submit } from "./transaction.ts";

export type { Entity, Filter, Row, RowPage, Scan } from "./rows.ts";
export type { Action } from "./transaction.ts";

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
  const callerOf = (name: string) => serviceCaller(service, timeoutMs, () => openClient(options, name, clientOptions));
  const tables = new Map<string, Table>();
  return {
    table(name) {
      const table = tables.get(name) ?? tableOf(callerOf(name));
      tables.set(name, table);
      return table;
    },
    createTable: name => callerOf(name)((client, abortSignal) => client.createTable({ abortSignal })),
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

export type Table = ReturnType<typeof tableOf>;

/**
 * A table. Every call ends within the time limit, retries included, or throws Fault `unavailable`. A write that ends
 * with this Fault may have succeeded.
 *
 * A write whose response is lost is sent again, so its condition may fail because of its own first attempt. After
 * `undefined` or `false` the caller must read the row again; any other result is certain. If another writer deletes or
 * recreates the row between both attempts, an `insert` may recreate it, and a `remove` without an ETag may delete it
 * again.
 */
function tableOf(call: ReturnType<typeof serviceCaller<TableClient>>) {
  type Work<T> = (client: TableClient, abortSignal: AbortSignal) => Promise<T>;

  /** Makes a call. Returns undefined if it fails with one of the expected error codes. */
  const callUnless = async <T>(expected: readonly string[], work: Work<T>) => {
    try {
      return await call(work);
    } catch (error) {
      const code = codeOf(error);
      if (code !== undefined && expected.includes(code)) return undefined;
      throw error;
    }
  };

  const update = (mode: "Replace" | "Merge", entity: Entity, etag: string) =>
    callUnless(changedOrMissing, async (client, abortSignal) =>
      etagOf(await client.updateEntity(toEntity(entity), mode, { etag, abortSignal })),
    );

  const queryPage = (filter: Filter | Scan, options: Parameters<typeof readRowPage>[2]) =>
    call((client, abortSignal) => readRowPage(client, filter, options, abortSignal));

  /** Yields rows sorted by their keys. Reads further pages as needed, each within the time limit. */
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
    get: async (partitionKey: string, rowKey: string): Promise<Row | undefined> =>
      isKey(partitionKey) && isKey(rowKey)
        ? callUnless(missing, async (client, abortSignal) =>
            toRow(await client.getEntity(partitionKey, rowKey, { abortSignal })),
          )
        : undefined,
    /** Inserts a row. Returns its ETag; undefined if the row exists. */
    insert: (entity: Entity) =>
      callUnless(exists, async (client, abortSignal) =>
        etagOf(await client.createEntity(toEntity(entity), { abortSignal })),
      ),
    /** Replaces a row by its ETag. Returns the new ETag; undefined if the row was changed or removed. */
    replace: async (entity: Entity, etag: string) => update("Replace", entity, checkedEtag(etag)),
    /** Writes the given properties by the row's ETag; the others stay. Returns as `replace` does. */
    merge: async (entity: Entity, etag: string) => update("Merge", entity, checkedEtag(etag)),
    /** Writes the given properties, if the row exists. Returns its new ETag; undefined if it does not exist. */
    mergeExisting: (entity: Entity) => update("Merge", entity, "*"),
    /** Inserts or replaces a row without a condition. Returns its ETag. */
    upsert: (entity: Entity) =>
      call(async (client, abortSignal) =>
        etagOf(await client.upsertEntity(toEntity(entity), "Replace", { abortSignal })),
      ),
    /** Removes a row. Returns false if it does not exist or, with an ETag, if it was changed. */
    remove: async (partitionKey: string, rowKey: string, etag?: string): Promise<boolean> => {
      if (!isKey(partitionKey) || !isKey(rowKey)) return false;
      const condition = etag === undefined ? {} : { etag: checkedEtag(etag) };
      const done = await callUnless(changedOrMissing, (client, abortSignal) =>
        client.deleteEntity(partitionKey, rowKey, { ...condition, abortSignal }),
      );
      return done !== undefined;
    },
    /**
     * Runs all actions or none: at most 100, on different rows of one partition.
     * Returns the ETags in the order of the actions, undefined for removals; undefined if a condition failed.
     */
    transact: async (
      partitionKey: string,
      actions: readonly Action[],
    ): Promise<readonly (string | undefined)[] | undefined> =>
      actions.length === 0
        ? []
        : callUnless([...changedOrMissing, ...exists], (client, abortSignal) =>
            submit(client, partitionKey, actions, abortSignal),
          ),
    query: (filter: Filter, options?: QueryOptions): AsyncIterable<Row> => rows(filter, options),
    /** Yields the rows of several partitions. For maintenance, clean-up and rare calls of administrators. */
    scan: (range: Scan = {}, options?: QueryOptions): AsyncIterable<Row> => rows(range, options),
    queryPage,
  };
}

/** Error codes of failed conditions. A missing table is not one of them, because it is an error of the deployment. */
const missing = ["ResourceNotFound", "EntityNotFound"];
const exists = ["EntityAlreadyExists"];
const changedOrMissing = ["UpdateConditionNotSatisfied", "ConditionNotMet", ...missing];

/** Returns the error code: the SDK has that of a transaction in `code`, that of other calls in `details`. */
function codeOf(error: unknown): string | undefined {
  if (!isServiceError(error)) return undefined;
  const { details } = error as { details?: { odataError?: { code?: string } } };
  return details?.odataError?.code ?? error.code;
}
