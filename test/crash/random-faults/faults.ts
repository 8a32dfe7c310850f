import { setTimeout } from "node:timers/promises";
import type { Tables } from "../../../lib/azure/tables/tables.ts";
import type { Fetch } from "../../../lib/connector/http/call.ts";
import { Fault } from "../../../lib/fault.ts";
import { between, type Instant, seconds } from "../../../lib/time.ts";
import { type Call, through } from "../../support/auth/store-steps.ts";
import type { Draw } from "./draw.ts";

/** How often a call has a fault, from 0 to 1. */
export interface Shares {
  /** Of calls to storage and Key Vault. */
  readonly calls: number;
  /** Of requests to peers. */
  readonly requests: number;
}

/** Faults of what hosts call: refused, lost, sent twice, late, or as if the host was suspended meanwhile. */
export interface Faults {
  /** The tables of a host. */
  tables(host: string, tables: Tables): Tables;
  /** A port of a host: every function of it is a call. @param writes names of those that change something */
  port<P extends object>(host: string, port: P, name: string, writes?: readonly string[]): P;
  /** The requests of a host to peers. */
  fetch(host: string): Fetch;
  /** Continues one suspended call. */
  continueOne(): void;
  /** No call has a fault from now on. Returns after the last late write has arrived. */
  end(): Promise<void>;
  /** Continues all suspended calls, as after a long suspension of their hosts. */
  continueAll(): void;
  /** Whether calls are suspended: their hosts have died, if nothing continues them. */
  areSuspended(): boolean;
}

/** Storage ends a call after this time, so it cannot take effect later. */
const latestMs = seconds(30);

/**
 * Creates the faults of one run.
 * @param note called with a text for each fault
 */
export function createFaults(
  { draw, shares, now }: { readonly draw: Draw; readonly shares: Shares; readonly now: () => Instant },
  note: (text: string) => void,
): Faults {
  let hasEnded = false;
  const suspended: (() => void)[] = [];
  const late: Promise<unknown>[] = [];
  const suspension = () => new Promise<void>(resolve => suspended.push(resolve));
  const arriveLate = (send: () => Promise<unknown>) => {
    const sentAt = now();
    const arrival = setTimeout(draw.pick([5, 50, 200])).then(() =>
      between(sentAt, now()) <= latestMs ? send() : undefined,
    );
    // Nobody waits for its response any more.
    late.push(arrival.catch(() => undefined));
  };

  const faultyCall = async <T>(host: string, { name, writes }: Call, send: () => Promise<T>): Promise<T> => {
    if (hasEnded || !draw.chance(shares.calls)) return send();
    const fault = draw.pick(writes ? writeFaults : readFaults);
    note(`${fault}: ${host} ${name.slice(0, 300)}`);
    switch (fault) {
      case "refused":
        throw unavailable();
      case "suspended before":
        await suspension();
        return send();
      case "lost":
        await send();
        throw unavailable();
      case "sent twice":
        await send();
        return send();
      case "suspended after": {
        const done = await send();
        await suspension();
        return done;
      }
      case "late":
        arriveLate(send);
        throw unavailable();
      case "sent twice, first late":
        arriveLate(send);
        return send();
    }
  };

  const faultyRequest = async (host: string, ...[input, init]: Parameters<Fetch>): Promise<Response> => {
    const send = () => fetch(input, init);
    if (hasEnded || !draw.chance(shares.requests)) return send();
    const fault = draw.pick(requestFaults);
    note(
      `${fault}: ${host} ${init?.method ?? "GET"} ${new URL(String(input instanceof Request ? input.url : input)).pathname}`,
    );
    switch (fault) {
      case "not connected":
        throw new TypeError("fetch failed");
      case "lost":
        await send();
        throw new TypeError("fetch failed");
      case "error":
        return new Response("{}", { status: draw.pick([500, 503]) });
      case "throttled":
        return new Response("{}", { status: 429, headers: { "retry-after": "90" } });
      case "error after":
        await send();
        return new Response("{}", { status: 500 });
      case "suspended before":
        await suspension();
        throw timeout();
      case "suspended after":
        await send();
        await suspension();
        throw timeout();
      case "late":
        arriveLate(() => fetch(input, { ...init, signal: null }));
        throw timeout();
    }
  };

  return {
    tables: (host, tables) => through(tables, (call, send) => faultyCall(host, call, send)),
    port: (host, port, name, writes = []) =>
      new Proxy(port, {
        get: (target, property, receiver) => {
          const real: unknown = Reflect.get(target, property, receiver);
          if (typeof real !== "function") return real;
          const call = { name: `${name} ${String(property)}`, writes: writes.includes(String(property)) };
          return (...args: unknown[]) => faultyCall(host, call, () => real.apply(target, args));
        },
      }),
    fetch:
      host =>
      (...request) =>
        faultyRequest(host, ...request),
    continueOne: () => {
      if (suspended.length > 0) suspended.splice(suspended.indexOf(draw.pick(suspended)), 1)[0]?.();
    },
    end: async () => {
      hasEnded = true;
      await Promise.all(late);
    },
    continueAll: () => {
      for (const goOn of suspended.splice(0)) goOn();
    },
    areSuspended: () => suspended.length > 0,
  };
}

const readFaults = ["refused", "suspended before"] as const;
const writeFaults = [...readFaults, "lost", "sent twice", "suspended after", "late", "sent twice, first late"] as const;
const requestFaults = [
  "not connected",
  "lost",
  "error",
  "throttled",
  "error after",
  "suspended before",
  "suspended after",
  "late",
] as const;

const unavailable = () => new Fault("unavailable", "Storage is not available.", { retryAfter: 1 });
const timeout = () => new DOMException("The operation was aborted due to timeout", "TimeoutError");
