import type { Table, Tables } from "../../../lib/platform/azure/tables.ts";

/** One storage call: what it is, for messages, and whether it may change anything. */
export interface Call {
  readonly name: string;
  readonly writes: boolean;
}

/** Decides whether and when a call is sent, and what its caller gets. */
export type Around = <T>(call: Call, send: () => Promise<T>) => Promise<T>;

/**
 * Returns a port (interface to an external system) that sends each call through `around`.
 * @param writes names of the functions that change something
 */
export const aroundPort = <P extends object>(
  port: P,
  { name, writes = [] }: { readonly name: string; readonly writes?: readonly (keyof P & string)[] },
  around: Around,
): P =>
  new Proxy(port, {
    get: (target, property, receiver) => {
      const real: unknown = Reflect.get(target, property, receiver);
      if (typeof real !== "function") return real;
      const call = { name: `${name} ${String(property)}`, writes: writes.some(write => write === property) };
      return (...args: unknown[]) => around(call, () => real.apply(target, args));
    },
  });

/**
 * Returns tables that send each call through `around`, except `scan` and `createTable`. A query is one call: all its rows
 * are read before the first is returned.
 */
export function aroundCalls(tables: Tables, around: Around): Tables {
  const wrapped = (name: string): Table => {
    const table = tables.table(name);
    const call =
      <A extends unknown[], R>(method: string, writes: boolean, send: (...args: A) => Promise<R>) =>
      (...args: A) =>
        around({ name: `${method} ${name} ${JSON.stringify(args)}`, writes }, () => send(...args));
    const collect = (...args: Parameters<Table["query"]>) => Array.fromAsync(table.query(...args));
    const query = call("query", false, collect);
    return {
      get: (...args) => call("get", false, table.get)(...args),
      insert: call("insert", true, table.insert),
      replace: call("replace", true, table.replace),
      merge: call("merge", true, table.merge),
      mergeExisting: call("mergeExisting", true, table.mergeExisting),
      upsert: call("upsert", true, table.upsert),
      remove: call("remove", true, table.remove),
      transact: call("transact", true, table.transact),
      query: async function* (...args) {
        yield* await query(...args);
      },
      queryPage: call("queryPage", false, table.queryPage),
      scan: table.scan,
    };
  };
  return { table: wrapped, createTable: tables.createTable };
}
