import type { TableClient, TableServiceClientOptions } from "@azure/data-tables";
import { type Access, isLocalService } from "../credential.ts";
import { callService, type Policies, rejectNonJson, retryOptions } from "../service-errors.ts";
import { checkedEtag, etagOf, undefinedIf } from "./conditions.ts";
import { type Entity, isKey, type Row, toEntity, toRow } from "./entity.ts";
import { type Filter, type Page, type PageOptions, readPage } from "./query.ts";
import { type Action, conditionalRemovals, submit } from "./transaction.ts";

export type { Entity, Row } from "./entity.ts";
export type { Filter, Page } from "./query.ts";
export type { Action } from "./transaction.ts";

/**
 * One table. Every call ends within the time limit, retries included, else with a `Fault` `unavailable`; a write that
 * ended so may have been done.
 *
 * A try whose answer is lost is repeated. So a condition that fails may be failed by the call's own first try: a result
 * of `undefined` or `false` says that the row is not as it was, and the caller reads again. The other way round, a
 * result that says "done" is always true. Only a row that another removes or makes anew within that second is met as it
 * is then: by an `insert` it may come back, by a `remove` without an etag it goes again.
 */
export interface Table {
  get(partitionKey: string, rowKey: string): Promise<Row | undefined>;
  /** @returns the etag; undefined where the row exists */
  insert(entity: Entity): Promise<string | undefined>;
  /** Writes the whole row. @returns the new etag; undefined where it was changed or removed since `etag` */
  replace(entity: Entity, etag: string): Promise<string | undefined>;
  /** Writes the named properties and leaves the others. @returns as `replace` */
  merge(entity: Entity, etag: string): Promise<string | undefined>;
  /** Writes the whole row, whatever is there. @returns the etag */
  upsert(entity: Entity): Promise<string>;
  /** @returns false where it is gone or, with an etag, was changed */
  remove(partitionKey: string, rowKey: string, etag?: string): Promise<boolean>;
  /**
   * All or nothing, at most 100 rows of one partition, each once.
   * @returns the etags in the order of the actions, undefined for removals; undefined where a condition failed
   */
  transact(partitionKey: string, actions: readonly Action[]): Promise<readonly (string | undefined)[] | undefined>;
  /** In the order of row keys; further pages are read as needed, each within the time limit. */
  query(filter: Filter, options?: QueryOptions): AsyncIterable<Row>;
  queryPage(filter: Filter, options: PageOptions): Promise<Page>;
  /** The whole table in the order of partition and row keys, each page within the time limit. For maintenance and rare work of administrators. */
  scan(): AsyncIterable<Row>;
}

export interface QueryOptions {
  /** Most rows in all. */
  readonly limit?: number;
  readonly select?: readonly string[];
  readonly signal?: AbortSignal;
}

export interface Tables {
  table(name: string): Table;
  /** Present already is fine. Not for the request path (decision G12). */
  createTable(name: string): Promise<void>;
}

export type TablesOptions = Access & {
  /** Of one call or one page, retries included. */
  readonly timeoutMs: number;
  /** Put into the request pipeline. */
  readonly policies?: Policies;
};

const service = "Storage";

/** Table storage. One SDK client a table; the SDK is loaded at the first call. */
export function openTables(options: TablesOptions): Tables {
  const { timeoutMs, policies = [] } = options;
  const clientOptions: TableServiceClientOptions = {
    retryOptions,
    additionalPolicies: [conditionalRemovals, rejectNonJson(service, timeoutMs), ...policies],
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

async function openClient(access: Access, name: string, options: TableServiceClientOptions): Promise<TableClient> {
  const { TableClient } = await import("@azure/data-tables");
  const client =
    "connectionString" in access
      ? TableClient.fromConnectionString(access.connectionString, name, { ...options, allowInsecureConnection: true })
      : new TableClient(access.endpoint, name, access.credential, options);
  isLocalService(client.url);
  return client;
}

function tableOf(open: () => Promise<TableClient>, timeoutMs: number): Table {
  const call = <T>(work: (client: TableClient, abortSignal: AbortSignal) => Promise<T>, signal?: AbortSignal) =>
    callService(service, timeoutMs, async abortSignal => work(await open(), abortSignal), signal);

  const update = (mode: "Replace" | "Merge") => (entity: Entity, etag: string) =>
    undefinedIf(["changed", "missing"], () =>
      call(async (client, abortSignal) => {
        const conditions = { etag: checkedEtag(etag), abortSignal };
        return etagOf(await client.updateEntity(toEntity(entity), mode, conditions));
      }),
    );

  const queryPage = (filter: Filter | undefined, options: PageOptions, signal?: AbortSignal) =>
    call((client, abortSignal) => readPage(client, filter, options, abortSignal), signal);

  return {
    get: async (partitionKey, rowKey) =>
      isKey(partitionKey) && isKey(rowKey)
        ? undefinedIf(["missing"], () =>
            call(async (client, abortSignal) => toRow(await client.getEntity(partitionKey, rowKey, { abortSignal }))),
          )
        : undefined,
    insert: entity =>
      undefinedIf(["exists"], () =>
        call(async (client, abortSignal) => etagOf(await client.createEntity(toEntity(entity), { abortSignal }))),
      ),
    replace: update("Replace"),
    merge: update("Merge"),
    upsert: entity =>
      call(async (client, abortSignal) =>
        etagOf(await client.upsertEntity(toEntity(entity), "Replace", { abortSignal })),
      ),
    remove: async (partitionKey, rowKey, etag) => {
      if (!isKey(partitionKey) || !isKey(rowKey)) return false;
      const condition = etag === undefined ? {} : { etag: checkedEtag(etag) };
      const done = await undefinedIf(["changed", "missing"], () =>
        call((client, abortSignal) => client.deleteEntity(partitionKey, rowKey, { ...condition, abortSignal })),
      );
      return done !== undefined;
    },
    transact: async (partitionKey, actions) =>
      actions.length === 0
        ? []
        : undefinedIf(["changed", "missing", "exists"], () =>
            call((client, abortSignal) => submit(client, partitionKey, actions, abortSignal)),
          ),
    query: async function* (filter, { limit = Number.POSITIVE_INFINITY, select, signal } = {}) {
      let left = limit;
      let continuation: string | undefined;
      while (left > 0) {
        const page = await queryPage(filter, { top: Math.min(left, 1000), continuation, select }, signal);
        yield* page.rows;
        left -= page.rows.length;
        continuation = page.continuation;
        if (continuation === undefined) return;
      }
    },
    queryPage: (filter, options) => queryPage(filter, options),
    scan: async function* () {
      let continuation: string | undefined;
      do {
        const page = await queryPage(undefined, { top: 1000, continuation });
        yield* page.rows;
        ({ continuation } = page);
      } while (continuation !== undefined);
    },
  };
}
