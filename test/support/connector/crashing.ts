import type { Table, Tables } from "../../../lib/platform/azure/tables.ts";
import type { ConnectorOptions } from "./test-connector.ts";

/** A process that stops at one of its outside calls, and continues only if it is asked to. */
export interface Dying {
  /** Resolves with the call at which it stopped; never resolves if it reached its end. */
  readonly died: Promise<string>;
  /** The tables and ports of a connector that stops. */
  readonly options: Required<Pick<ConnectorOptions, "tables" | "ports">>;
  goOn(): void;
}

type Method = (...args: unknown[]) => unknown;

const writes = ["insert", "replace", "merge", "upsert", "remove", "transact"] as const;

/**
 * @param at the call at which the process stops: its position among all watched calls, or its name such as `due.upsert`, with a number for
 * a later call of that name: `due.upsert 2`
 * @param phase whether the call is made before the process stops
 * @param which the calls that are watched: writes to tables and the order, or those and all calls of other ports
 */
export function crashing(at: number | string, phase: "before" | "after", which: "writes" | "all" = "writes"): Dying {
  const death = Promise.withResolvers<string>();
  const resurrection = Promise.withResolvers<void>();
  const counts = new Map<string, number>();
  let calls = 0;
  let isDead = false;
  const watched = <T extends object>(port: T, name: string, only: (method: string) => boolean = () => true): T =>
    new Proxy(port, {
      get: (target, method, receiver) => {
        const real = Reflect.get(target, method, receiver) as unknown;
        if (typeof real !== "function" || !only(String(method))) return real;
        return async (...args: unknown[]) => {
          const called = `${name}.${String(method)}`;
          const position = calls++;
          const count = (counts.get(called) ?? 0) + 1;
          counts.set(called, count);
          if (isDead) await resurrection.promise;
          const isHere = at === position || at === (count === 1 ? called : `${called} ${count}`);
          if (isDead || !isHere) return (real as Method)(...args);
          isDead = true;
          const done = phase === "after" ? await (real as Method)(...args) : undefined;
          death.resolve(`${position}: ${called}`);
          await resurrection.promise;
          return phase === "after" ? done : (real as Method)(...args);
        };
      },
    });
  return {
    died: death.promise,
    options: {
      tables: tables => ({
        ...tables,
        table: name => watched(tables.table(name), name, method => (writes as readonly string[]).includes(method)),
      }),
      ports: ({ delivery, rfpr, responses, mailer, idps }) => ({
        delivery: watched(delivery, "delivery", method => method === "createShipment" || which === "all"),
        ...(which === "all" && {
          ...(rfpr && { rfpr: watched(rfpr, "rfpr") }),
          responses: watched(responses, "responses"),
          mailer: watched(mailer, "mailer"),
          idps: {
            ...idps,
            get: (id: string) => {
              const idp = idps.get(id);
              return idp && watched(idp, "idp");
            },
          },
        }),
      }),
    },
    goOn: () => resurrection.resolve(),
  };
}

/** Returns the tables with changed methods of one table. */
export const withTable =
  (name: string, change: (table: Table) => Partial<Table>) =>
  (tables: Tables): Tables => ({
    ...tables,
    table: each => {
      const table = tables.table(each);
      return each === name ? { ...table, ...change(table) } : table;
    },
  });

/** Returns the tables with failing methods of one table. */
export const failingTable = (name: string, ...methods: readonly (keyof Table)[]) =>
  withTable(name, () =>
    Object.fromEntries(methods.map(method => [method, () => Promise.reject(new Error("storage is away"))])),
  );
