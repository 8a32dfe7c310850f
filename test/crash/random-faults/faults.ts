import { setTimeout } from "node:timers/promises";
import type { Tables } from "../../../lib/platform/azure/tables.ts";
import type { Fetch } from "../../../lib/platform/call-peer.ts";
import { Fault } from "../../../lib/platform/fault.ts";
import { between, type Instant, seconds } from "../../../lib/platform/time.ts";
import { aroundCalls, aroundPort, type Call } from "../../support/storage/around-calls.ts";
import type { Random } from "./random.ts";

/** How probable a fault is, from 0 to 1. */
export interface Probabilities {
  /** Of calls to storage and Key Vault. */
  readonly calls: number;
  /** Of requests to peers. */
  readonly requests: number;
}

/**
 * Injects faults: a call is refused, its response is lost, it is sent twice, it arrives late, or its host is suspended before or after it.
 * A request to a peer may also be answered with an error or a 429. A host is an instance of the app in the process of the test.
 */
export interface Faults {
  /** The tables of a host. */
  tables(host: string, tables: Tables): Tables;
  /** Another port (interface to an external system) of a host: every function is a call. @param writes names of those that change something */
  port<P extends object>(host: string, port: P, name: string, writes?: readonly (keyof P & string)[]): P;
  /** The requests of a host to peers. */
  fetch(host: string): Fetch;
  /** Continues one suspended call. */
  continueOne(): void;
  /** No call has a fault from now on. Returns after the last late write has arrived. */
  end(): Promise<void>;
  /** Continues all suspended calls, as after a long suspension of their hosts. */
  continueAll(): void;
  /** Whether any call is suspended. A host whose call never continues counts as crashed. */
  areSuspended(): boolean;
  /** Number of calls so far. */
  calls(): number;
  /** Whether a call is on its way; not a suspended one. */
  areSent(): boolean;
}

/** Storage ends a call after 30 s of the test clock, so a late call cannot take effect after that. */
const maxDelayMs = seconds(30);

/**
 * Creates the faults of one run.
 * @param log called with a text for each fault
 */
export function createFaults(
  {
    random,
    probabilities,
    now,
  }: { readonly random: Random; readonly probabilities: Probabilities; readonly now: () => Instant },
  log: (text: string) => void,
): Faults {
  let hasEnded = false;
  let calls = 0;
  let sent = 0;
  const suspended: (() => void)[] = [];
  const late: Promise<unknown>[] = [];
  const suspension = () => new Promise<void>(resolve => suspended.push(resolve));
  const arriveLate = (send: () => Promise<unknown>) => {
    const sentAt = now();
    const arrival = setTimeout(random.pick([5, 50, 200])).then(() =>
      between(sentAt, now()) <= maxDelayMs ? send() : undefined,
    );
    // The caller has stopped waiting for the response.
    late.push(arrival.catch(() => undefined));
  };

  const counted = async <T>(send: () => Promise<T>): Promise<T> => {
    sent++;
    try {
      return await send();
    } finally {
      sent--;
    }
  };

  const faultyCall = async <T>(host: string, { name, writes }: Call, given: () => Promise<T>): Promise<T> => {
    const send = () => counted(given);
    calls++;
    if (hasEnded || !random.chance(probabilities.calls)) return send();
    const fault = random.pick(writes ? writeFaults : readFaults);
    log(`${fault}: ${host} ${name.slice(0, 300)}`);
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
        const result = await send();
        await suspension();
        return result;
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
    const send = () => counted(() => fetch(input, init));
    calls++;
    if (hasEnded || !random.chance(probabilities.requests)) return send();
    const fault = random.pick(requestFaults);
    log(
      `${fault}: ${host} ${init?.method ?? "GET"} ${new URL(String(input instanceof Request ? input.url : input)).pathname}`,
    );
    switch (fault) {
      case "not connected":
        throw new TypeError("fetch failed");
      case "lost":
        await send();
        throw new TypeError("fetch failed");
      case "error":
        return new Response("{}", { status: random.pick([500, 503]) });
      case "throttled":
        return new Response("{}", { status: 429, headers: { "retry-after": "90" } });
      case "error after":
        await send();
        return new Response("{}", { status: 500 });
      case "suspended before":
        // The time limit of the request has passed meanwhile, so it is not sent.
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
    tables: (host, tables) => aroundCalls(tables, (call, send) => faultyCall(host, call, send)),
    port: (host, port, name, writes = []) =>
      aroundPort(port, { name, writes }, (call, send) => faultyCall(host, call, send)),
    fetch:
      host =>
      (...request) =>
        faultyRequest(host, ...request),
    continueOne: () => {
      if (suspended.length > 0) suspended.splice(suspended.indexOf(random.pick(suspended)), 1)[0]?.();
    },
    end: async () => {
      hasEnded = true;
      await Promise.all(late);
    },
    continueAll: () => {
      for (const resume of suspended.splice(0)) resume();
    },
    areSuspended: () => suspended.length > 0,
    calls: () => calls,
    areSent: () => sent > 0,
  };
}

/** A read has no effect, so its caller cannot see other faults. */
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

const unavailable = () => new Fault("unavailable", "A service is not available.", { retryAfterSeconds: 1 });
const timeout = () => new DOMException("The operation was aborted due to timeout", "TimeoutError");
