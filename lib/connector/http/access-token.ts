import { type Instant, plus } from "../../time.ts";
import type { PeerAccess } from "./call.ts";
import { PeerFailure, type PeerFailureKind } from "./failure.ts";
import { raceAbort, singleFlight } from "./single-flight.ts";

/** An access token as it was granted. */
export interface Grant {
  readonly token: string;
  /** 0 where whoever grants it keeps it as well. */
  readonly expiresInSeconds: number;
}

/** The access token of one client at one peer, kept until shortly before it expires. */
export interface AccessTokens {
  /**
   * Runs `call` with a token, and once more with a new one when it fails with 401.
   * @throws PeerFailure when there is no token, of a kind that says truly that `call` was not made; else what `call` throws
   */
  use<T>(signal: AbortSignal, call: (token: string) => Promise<T>): Promise<T>;
}

/** A token that a peer refuses is not taken for too old before this age: its rights are at fault, not its time. */
const leastAgeMs = 10_000;
const marginMs = 60_000;

/** @param grant gets a new token; it ends by itself, as one run of it serves all who wait */
export function createAccessTokens(
  access: Pick<PeerAccess, "peer" | "now">,
  grant: () => Promise<Grant>,
): AccessTokens {
  let held: { readonly token: string; readonly since: Instant; readonly until: Instant } | undefined;

  const renew = singleFlight(async () => {
    const since = access.now();
    const { token, expiresInSeconds } = await grant().catch((error: unknown) => {
      throw noToken(access.peer, error);
    });
    const life = expiresInSeconds * 1000;
    held = { token, since, until: plus(since, life - Math.min(marginMs, life / 2)) };
    return token;
  });
  const renewed = (signal: AbortSignal) => raceAbort(renew(), signal, cause => noToken(access.peer, cause));

  return {
    use: async (signal, call) => {
      const token = held !== undefined && access.now() < held.until ? held.token : await renewed(signal);
      try {
        return await call(token);
      } catch (error) {
        if (!(error instanceof PeerFailure) || error.status !== 401) throw error;
        if (held?.token === token && access.now() < plus(held.since, leastAgeMs)) throw error;
        const fresh = held === undefined || held.token === token ? await renewed(signal) : held.token;
        if (fresh === token) throw error;
        return call(fresh);
      }
    },
  };
}

/** The call that needed the token was not made, so only these kinds are true of it. */
const kinds: Readonly<Record<PeerFailureKind, PeerFailureKind>> = {
  unreachable: "unreachable",
  unanswered: "unreachable",
  throttled: "throttled",
  unauthorized: "unauthorized",
  missing: "unauthorized",
  refused: "unauthorized",
};

function noToken(peer: string, cause: unknown): PeerFailure {
  if (!(cause instanceof PeerFailure)) return new PeerFailure(peer, "access token", "unreachable", { cause });
  const { status, retryAfter, code, detail } = cause;
  const kind = code === "temporarily_unavailable" || code === "server_error" ? "unreachable" : kinds[cause.kind];
  return new PeerFailure(peer, "access token", kind, { status, retryAfter, code, detail, cause });
}
