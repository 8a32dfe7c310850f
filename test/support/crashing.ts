import type { ConnectorContext } from "../../functions/connector/context.ts";

/** A process that stops at one of its outside calls and never goes on, unless it is told to. */
export interface Dying {
  /** Resolves with the call at which it stopped; never where it came through. */
  readonly died: Promise<string>;
  ports(context: ConnectorContext): Partial<ConnectorContext>;
  goOn(): void;
}

type Method = (...args: unknown[]) => unknown;

/**
 * @param at the call that counts: how many came before it, or the first of that name
 * @param phase whether it is still made
 * @param which calls count: those to tables and the order, or all to storage and peers
 */
export function crashing(at: number | string, phase: "before" | "after", which: "writes" | "all" = "writes"): Dying {
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
    ports: ({ requests, claims, delivery, rfpr, responses, mailer, idps }) => ({
      requests: watched(requests, "requests", method => method !== "due"),
      claims: watched(claims, "claims", () => true),
      delivery: watched(delivery, "delivery", method => method === "createShipment" || which === "all"),
      ...(which === "all" && {
        ...(rfpr && { rfpr: watched(rfpr, "rfpr", () => true) }),
        responses: watched(responses, "responses", () => true),
        mailer: watched(mailer, "mailer", () => true),
        idps: {
          ...idps,
          get: (id: string) => {
            const idp = idps.get(id);
            return idp && watched(idp, "idp", () => true);
          },
        },
      }),
    }),
    goOn: () => resurrection.resolve(),
  };
}
