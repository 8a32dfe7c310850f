import type { Fetch } from "../../../lib/platform/call-peer.ts";
import type { ConnectorOptions } from "../../support/connector/test-connector.ts";
import { type Around, aroundCalls, aroundPort, type Call } from "../../support/storage/around-calls.ts";

/**
 * What happens to a host at one of its calls:
 * - `dies`: the call is done, and the host makes no call after it
 * - `dies, lost`: the host dies, and the call never arrives
 * - `dies, late`: the host dies before the call arrives, which does so when all other work is done
 * - `stops`: the call is done, and the host is suspended until all other work is done
 */
export type HostFault = "dies" | "dies, lost" | "dies, late" | "stops";

/** A call of storage, or of a peer. */
export interface HostCall extends Call {
  readonly isStorage: boolean;
}

/** An instance of the connector that has a fault at one call. What it begins later waits as well. */
export interface FaultyHost {
  readonly options: Required<Pick<ConnectorOptions, "tables" | "fetch" | "ports">>;
  /** The calls so far, in their order. */
  readonly calls: readonly HostCall[];
  /** Resolves when the host has died or is suspended. */
  readonly met: Promise<void>;
  /** Continues a suspended host, or lets the late call of a dead one arrive. */
  goOn(): Promise<void>;
}

/**
 * Returns the faults of each call, by its number. The death before a write of storage is that after the call before it, and a death
 * at a call that changes nothing is that before the next one. A request to a peer does not arrive late: its time limit has passed.
 * Neither does the first row of a request, which storage would have to delay for longer than the hour that its index row is kept.
 */
export const faultsOf = (calls: readonly HostCall[]): readonly (readonly [number: number, fault: HostFault])[] =>
  calls.flatMap(({ name, writes, isStorage }, number) => {
    const isFirst = /^transact credentialrequests .*"insert":.*"state":"received"/.test(name);
    const death = !isStorage ? "dies" : isFirst ? "dies, lost" : "dies, late";
    const faults: readonly HostFault[] = writes ? [death, "stops"] : ["stops"];
    return faults.map(fault => [number, fault] as const);
  });

/** @param number of the call with the fault, from 0; without one, the calls are only counted */
export function faultyHost(fault?: HostFault, number?: number): FaultyHost {
  const calls: HostCall[] = [];
  const met = Promise.withResolvers<void>();
  const resumed = Promise.withResolvers<void>();
  let isMet = false;
  let late: Promise<unknown> | undefined;
  /** Ends when the host is continued, so never for a dead one. */
  const pause = () => (fault === "stops" ? resumed.promise : new Promise<never>(() => {}));

  const around =
    (isStorage: boolean): Around =>
    async (call, send) => {
      const isHere = calls.push({ ...call, isStorage }) - 1 === number;
      if (isMet) await pause();
      if (!isHere) {
        const result = await send();
        if (isMet) await pause();
        return result;
      }
      isMet = true;
      if (fault === "dies, late" || fault === "dies, lost") {
        if (fault === "dies, late") late = resumed.promise.then(send).catch(() => undefined);
        met.resolve();
        return new Promise<never>(() => {});
      }
      const result = await send();
      met.resolve();
      await pause();
      return result;
    };
  const ofPeer = around(false);
  const request: Fetch = (input, init) => {
    const method = init?.method ?? "GET";
    const url = new URL(String(input instanceof Request ? input.url : input));
    return ofPeer({ name: `${method} ${url.pathname}`, writes: method !== "GET" }, () => fetch(input, init));
  };
  return {
    calls,
    met: met.promise,
    goOn: async () => {
      resumed.resolve();
      await late;
    },
    options: {
      tables: tables => aroundCalls(tables, around(true)),
      fetch: request,
      ports: ({ responses, mailer }) => ({
        responses: aroundPort(responses, { name: "responses", writes: ["put", "removeOf", "removeAll"] }, around(true)),
        mailer: aroundPort(mailer, { name: "mail", writes: ["send"] }, ofPeer),
      }),
    },
  };
}
