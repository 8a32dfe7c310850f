import type { ConnectorContext } from "../../../../functions/connector/context.ts";

/** A process that stops at one of its calls to storage or to the delivery service and never goes on, unless it is told to. */
export interface Dying {
  /** Resolves with the call at which it stopped; never where it came through. */
  readonly died: Promise<string>;
  ports(context: ConnectorContext): Partial<ConnectorContext>;
  goOn(): void;
}

type Method = (...args: unknown[]) => unknown;

/** @param at the call that counts: how many came before it, or the first of that name @param phase whether it is still made */
export function crashing(at: number | string, phase: "before" | "after"): Dying {
  const death = Promise.withResolvers<string>();
  const resurrection = Promise.withResolvers<void>();
  let calls = 0;
  let isDead = false;
  const watched = <T extends object>(port: T, name: string, only: (method: string) => boolean): T =>
    new Proxy(port, {
      get: (target, method, receiver) => {
        const real = Reflect.get(target, method, receiver) as unknown;
        if (typeof real !== "function" || !only(String(method))) return real;
        return async (...args: unknown[]) => {
          const called = `${name}.${String(method)}`;
          const position = calls++;
          if (isDead) await resurrection.promise;
          if (isDead || (at !== position && at !== called)) return (real as Method)(...args);
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
    ports: ({ requests, claims, delivery }) => ({
      requests: watched(requests, "requests", method => method !== "due"),
      claims: watched(claims, "claims", () => true),
      delivery: watched(delivery, "delivery", method => method === "createShipment"),
    }),
    goOn: () => resurrection.resolve(),
  };
}
