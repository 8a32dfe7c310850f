import { importJWK } from "jose";
import * as z from "zod";
import { singleFlight } from "../../platform/async.ts";
import { callPeer, type PeerAccess } from "../../platform/call-peer.ts";
import { PeerFailure } from "../../platform/peer-failure.ts";
import { between, type Instant, minutes } from "../../platform/time.ts";

/** A public key of the exchange format, on EC P-384. */
export interface PublicKey {
  readonly kty: "EC";
  readonly crv: "P-384";
  readonly x: string;
  readonly y: string;
  readonly kid: string;
}

interface KeySetOptions {
  readonly url: string;
  readonly use: "enc" | "sig";
}

/** How long a set is cached. */
const maxAgeMs = minutes(5);
/** The minimum age of a set that is read again for an unknown id. */
const refreshAgeMs = minutes(1);

/**
 * Returns the cached JWKS of a peer. It is read without a token, and concurrent callers share one read. Methods throw
 * PeerFailure only.
 */
export function createKeySet(access: PeerAccess, options: KeySetOptions) {
  const operation = `${options.use} key set`;
  let cached: { readonly keys: readonly PublicKey[]; readonly since: Instant } | undefined;

  const youngerThan = (ms: number) => cached !== undefined && between(cached.since, access.now()) < ms;
  const read = singleFlight(async () => {
    const since = access.now();
    const { keys } = await callPeer(access, {
      operation,
      method: "GET",
      url: options.url,
      response: jwks,
      mayRepeat: true,
    });
    const usable = await usableKeys(keys, options.use);
    if (usable.length === 0) throw new PeerFailure(access.peer, operation, "unanswered", { detail: "No usable key." });
    cached = { keys: usable, since };
    return usable;
  });
  const all = async () => (cached !== undefined && youngerThan(maxAgeMs) ? cached.keys : read());
  return {
    /** Returns all keys, at least one. */
    all,
    /** Returns the key with this id. A cached set without it is read again. */
    find: async (kid: string): Promise<PublicKey | undefined> => {
      const known = (await all()).find(key => key.kid === kid);
      if (known !== undefined || youngerThan(refreshAgeMs)) return known;
      return (await read()).find(key => key.kid === kid);
    },
  };
}

const jwks = z.lazy(() => z.object({ keys: z.array(z.unknown()) }));

const algorithms = { enc: ["ECDH-ES+A256KW", "ECDH-ES"], sig: ["ES384"] } as const;

/** The schema of a usable key. Compiled once for each use, not at each read of a set. */
const usableKey = {
  enc: z.lazy(() => keyFor("enc")),
  sig: z.lazy(() => keyFor("sig")),
};

const keyFor = (use: "enc" | "sig") =>
  z.object({
    kty: z.literal("EC"),
    crv: z.literal("P-384"),
    x: z.string(),
    y: z.string(),
    kid: z.string().min(1),
    use: z.literal(use),
    alg: z.enum(algorithms[use]).optional(),
    d: z.undefined().optional(),
  });

/** Returns the usable keys. Skips keys of another type or use, private and invalid keys, and repeated ids. */
async function usableKeys(keys: readonly unknown[], use: "enc" | "sig"): Promise<readonly PublicKey[]> {
  const usable = new Map<string, PublicKey>();
  for (const key of keys) {
    const parsed = usableKey[use].safeParse(key);
    if (!parsed.success) continue;
    const { kty, crv, x, y, kid } = parsed.data;
    const point = { kty, crv, x, y };
    const onCurve = await importJWK(point, algorithms[use][0]).catch(() => undefined);
    if (onCurve !== undefined && !usable.has(kid)) usable.set(kid, { ...point, kid });
  }
  return [...usable.values()];
}
