import { setImmediate } from "node:timers/promises";
import { type AuthStore, authStore } from "../../../lib/auth/store.table.ts";
import type { Tables } from "../../../lib/platform/azure/tables.ts";
import { Fault } from "../../../lib/platform/fault.ts";
import { hours, type Instant, plus } from "../../../lib/platform/time.ts";
import { aroundCalls, type Call } from "../storage/around-calls.ts";
import { storageDeps } from "./store.ts";
import { breaches, residue, type Snapshot, type Truth, truthOf } from "./store-truth.ts";

/** What happens to a storage call. `lost`: it is made, its response is lost, and it is sent again. */
export type CallFault = "crash" | "lost" | "failed after it was made" | "failed before it was made";

/** Chance of a run: the same choices make the same run. */
export interface Choices {
  /** Returns a number below `count`. */
  choose(count: number): number;
  /** Returns the fault of the next call, if it has one. */
  fault(): CallFault | undefined;
}

/** Storage on which operations run side by side, with everything that was true. */
export interface World {
  readonly tables: Tables;
  readonly snapshot: () => Promise<Snapshot>;
  readonly clock: { now: Instant };
  readonly random: (bytes: number) => Uint8Array;
  /** The users who existed after each call so far. */
  readonly history: (readonly Truth[])[];
  /** Each call so far, for messages. */
  readonly log: string[];
}

export interface Operation {
  readonly name: string;
  run(store: AuthStore): Promise<unknown>;
  /** Returns whether the result was true at a moment of the operation. */
  check?(result: unknown, during: readonly (readonly Truth[])[]): boolean;
}

interface Actor {
  readonly operation: Operation;
  readonly startedAt: number;
  endedAt?: number;
  result?: unknown;
  isCrashed?: boolean;
  isUnsure?: boolean;
  failure?: unknown;
}

interface Waiting {
  readonly actor: Actor;
  readonly name: string;
  /** Makes the call. Returns what gives its response to the actor. */
  go(fault: CallFault | undefined): Promise<() => void>;
}

export class Violation extends Error {}

/** Opens the store of a process of its own. Its calls and its waits pass `around`. */
function storeOf(world: World, around: <T>(call: Call, send: () => Promise<T>) => Promise<T>): AuthStore {
  return authStore(aroundCalls(world.tables, around), {
    ...storageDeps,
    now: () => world.clock.now,
    random: world.random,
    sleep: () => around({ name: "sleep", writes: false }, async () => {}),
  });
}

/**
 * Runs operations side by side, one storage call at a time. Checks what must hold after each call, and each result against the
 * moments of its operation.
 */
export async function runTogether(world: World, operations: readonly Operation[], choices: Choices): Promise<void> {
  const waiting: Waiting[] = [];
  const actors = operations.map(operation => start(world, operation, waiting));
  for (;;) {
    // An actor with a response has made its next call after this, or ended.
    await setImmediate();
    if (actors.every(({ endedAt, isCrashed }) => endedAt !== undefined || isCrashed)) break;
    const [next] = waiting.splice(choices.choose(waiting.length), 1);
    if (next === undefined) continue;
    const fault = next.name === "sleep" ? undefined : choices.fault();
    world.log.push(`${next.actor.operation.name}: ${next.name}${fault === undefined ? "" : `, ${fault}`}`);
    const respond = await next.go(fault);
    if (fault === "crash")
      for (let n = waiting.length - 1; n >= 0; n--) if (waiting[n]?.actor === next.actor) waiting.splice(n, 1);
    const rows = await world.snapshot();
    world.history.push(truthOf(rows));
    const [breach] = breaches(rows);
    if (breach !== undefined) throw new Violation(breach);
    respond();
  }
  for (const { operation, startedAt, endedAt, result, isCrashed, isUnsure, failure } of actors) {
    if (failure !== undefined) throw failure;
    if (isCrashed || isUnsure) continue;
    const during = world.history.slice(startedAt, (endedAt ?? 0) + 1);
    if (operation.check?.(result, during) === false)
      throw new Violation(`${operation.name} returned ${JSON.stringify(result)}, which was true at no moment of it`);
  }
}

function start(world: World, operation: Operation, waiting: Waiting[]): Actor {
  const actor: Actor = { operation, startedAt: world.history.length - 1 };
  const store = storeOf(
    world,
    <T>({ name }: Call, send: () => Promise<T>) =>
      new Promise<T>((resolve, reject) => {
        const go = async (fault: CallFault | undefined) => {
          if (fault === "crash") {
            actor.isCrashed = true;
            return () => {};
          }
          if (fault === "lost" || fault === "failed after it was made") await send();
          if (fault?.startsWith("failed")) return () => reject(new Fault("unavailable", "no storage"));
          return send().then(
            response => () => resolve(response),
            error => () => reject(error),
          );
        };
        if (!actor.isCrashed) waiting.push({ actor, name: name.slice(0, 160), go });
      }),
  );
  const end = (result: unknown) => {
    actor.result = result;
    actor.endedAt = world.history.length - 1;
  };
  const fail = (error: unknown) => {
    if (error instanceof Fault && error.kind === "unavailable") actor.isUnsure = true;
    else actor.failure = error;
    end(undefined);
  };
  void operation.run(store).then(end, fail);
  return actor;
}

/** Runs clean-up hours later until nothing is left to do, and checks that nothing is left. */
export async function settle(world: World): Promise<void> {
  const store = storeOf(world, (_, send) => send());
  for (let round = 0; round < 4; round++) {
    world.clock.now = plus(world.clock.now, hours(3));
    await store.cleanUp();
  }
  const rows = await world.snapshot();
  const [wrong] = [...breaches(rows), ...residue(rows)];
  if (wrong !== undefined) throw new Violation(`left for ever: ${wrong}`);
}
