import { importJWK } from "jose";
import * as z from "zod";
import { between, type Instant, minutes } from "../../time.ts";
import type { PeerAccess } from "./call.ts";
import { PeerFailure } from "./failure.ts";
import { readPeer } from "./retry.ts";
import { raceAbort, singleFlight } from "./single-flight.ts";

/** A public key of the exchange format: EC P-384 (decision C11). */
export interface PublicKey {
  readonly kty: "EC";
  readonly crv: "P-384";
  readonly x: string;
  readonly y: string;
  readonly kid: string;
}

/** The keys that a peer publishes. Every call throws PeerFailure only. */
export interface KeySet {
  /** At least one. */
  all(signal?: AbortSignal): Promise<readonly PublicKey[]>;
  /** The key with this id. A set without it is read again (decision C10). */
  find(kid: string, signal?: AbortSignal): Promise<PublicKey | undefined>;
}

export interface KeySetOptions {
  readonly url: string;
  readonly use: "enc" | "sig";
  /** How long a set is believed, 5 minutes by default. */
  readonly maxAgeMs?: number | undefined;
  /** An unknown id makes a set of at least this age be read again, 1 minute by default. */
  readonly refreshAgeMs?: number | undefined;
}

/** A peer's JWKS: read without a token, kept, one read for all who ask meanwhile. */
export function createKeySet(access: PeerAccess, options: KeySetOptions): KeySet {
  const { maxAgeMs = minutes(5), refreshAgeMs = minutes(1) } = options;
  const operation = `${options.use} key set`;
  let held: { readonly keys: readonly PublicKey[]; readonly since: Instant } | undefined;

  const youngerThan = (ms: number) => held !== undefined && between(held.since, access.now()) < ms;
  const read = singleFlight(async () => {
    const since = access.now();
    const { keys } = await readPeer(access, { operation, method: "GET", url: options.url, answer: jwks });
    const usable = await usableKeys(keys, options.use);
    if (usable.length === 0) throw new PeerFailure(access.peer, operation, "unanswered", { detail: "No usable key." });
    held = { keys: usable, since };
    return usable;
  });
  const reread = (signal: AbortSignal | undefined) =>
    raceAbort(read(), signal, cause => new PeerFailure(access.peer, operation, "unreachable", { cause }));

  const all = async (signal?: AbortSignal) =>
    held !== undefined && youngerThan(maxAgeMs) ? held.keys : reread(signal);
  return {
    all,
    find: async (kid, signal) => {
      const known = (await all(signal)).find(key => key.kid === kid);
      if (known !== undefined || youngerThan(refreshAgeMs)) return known;
      return (await reread(signal)).find(key => key.kid === kid);
    },
  };
}

const jwks = z.object({ keys: z.array(z.unknown()) });

const algorithms = { enc: ["ECDH-ES+A256KW", "ECDH-ES"], sig: ["ES384"] } as const;

/** Keys of another kind or use, private ones and broken ones are passed over; of two with one id the first counts. */
async function usableKeys(keys: readonly unknown[], use: "enc" | "sig"): Promise<readonly PublicKey[]> {
  const wanted = z.object({
    kty: z.literal("EC"),
    crv: z.literal("P-384"),
    x: z.string(),
    y: z.string(),
    kid: z.string().min(1),
    use: z.literal(use),
    alg: z.enum(algorithms[use]).optional(),
    d: z.undefined().optional(),
  });
  const usable = new Map<string, PublicKey>();
  for (const key of keys) {
    const parsed = wanted.safeParse(key);
    if (!parsed.success) continue;
    const { kty, crv, x, y, kid } = parsed.data;
    const point = { kty, crv, x, y };
    const onCurve = await importJWK(point, algorithms[use][0]).catch(() => undefined);
    if (onCurve !== undefined && !usable.has(kid)) usable.set(kid, { ...point, kid });
  }
  return [...usable.values()];
}
