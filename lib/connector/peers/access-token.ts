import * as z from "zod";
import { raceAbort, singleFlight, withTimeoutSignal } from "../../platform/async.ts";
import { callPeer, type PeerAccess, type PeerRequest } from "../../platform/call-peer.ts";
import { PeerFailure, type PeerFailureKind } from "../../platform/peer-failure.ts";
import { type Instant, plus } from "../../platform/time.ts";

/** A granted access token. */
export interface Grant {
  readonly token: string;
  /** 0 if the issuer caches the token itself. */
  readonly expiresInSeconds: number;
}

/** One operation with an access token. */
export interface TokenCall {
  readonly token: string;
  /** Ends the operation at its time limit, or when its caller leaves. */
  readonly signal: AbortSignal;
}

/** The calls of one operation, with its access token and within its time limit. */
export interface PeerApi extends TokenCall {
  send<T>(request: PeerRequest<T>): Promise<T>;
  /** Reads, with repetitions. */
  get<T>(operation: string, url: string, response: z.ZodType<T>): Promise<T>;
  /** Removes, with repetitions. Succeeds with status 204, or if the peer itself does not know the URL any more. */
  remove(operation: string, url: string): Promise<void>;
}

/** Returns a function that runs operations of a peer as `AccessTokens.use` does. */
export const peerApi =
  (access: PeerAccess, tokens: AccessTokens) =>
  <T>(outer: AbortSignal | undefined, work: (api: PeerApi) => Promise<T>): Promise<T> =>
    tokens.use(outer, call => {
      const send: PeerApi["send"] = request => callPeer(access, { ...call, ...request });
      return work({
        ...call,
        send,
        get: (operation, url, response) => send({ operation, method: "GET", url, response, mayRepeat: true }),
        remove: (operation, url) => {
          const request = { operation, method: "DELETE", url, mayRepeat: true } as const;
          return send({ ...request, response: z.undefined(), status: 204 }).catch(undefinedIfGone);
        },
      });
    });

/** Returns undefined if the peer itself reports that it does not know what was asked for. */
export function undefinedIfGone(error: unknown): undefined {
  if (error instanceof PeerFailure && error.kind === "missing") return undefined;
  throw error;
}

/** The access token of one client at one peer, cached until shortly before it expires. */
export interface AccessTokens {
  /**
   * Runs an operation with a token and within its time limit, and once more with a new token if it fails with 401.
   * @param outer ends the operation earlier
   * @throws PeerFailure if there is no token (`isNoToken`), never of the kind `unanswered`, because the peer has not
   * done the work then; otherwise what `work` throws
   */
  use<T>(outer: AbortSignal | undefined, work: (call: TokenCall) => Promise<T>): Promise<T>;
}

/** The age before which a refused token is not renewed: its permissions are the cause, not its expiry. */
const minAgeMs = 10_000;
/** How long before it expires a token is renewed. */
const marginMs = 60_000;

/**
 * Returns a token cache.
 * @param grant gets a new token; must end by itself, because all waiting callers share one run
 */
export function createAccessTokens(
  access: Pick<PeerAccess, "peer" | "now" | "timeLimitMs">,
  grant: () => Promise<Grant>,
): AccessTokens {
  let cached: { readonly token: string; readonly since: Instant; readonly until: Instant } | undefined;

  const renew = singleFlight(async () => {
    const since = access.now();
    const { token, expiresInSeconds } = await grant().catch((error: unknown) => {
      throw noToken(access.peer, error);
    });
    const life = expiresInSeconds * 1000;
    cached = { token, since, until: plus(since, life - Math.min(marginMs, life / 2)) };
    return token;
  });
  const renewed = (signal: AbortSignal) => raceAbort(renew(), signal, cause => noToken(access.peer, cause));

  return {
    use: (outer, work) =>
      withTimeoutSignal(access.timeLimitMs, outer, async signal => {
        const token = cached !== undefined && access.now() < cached.until ? cached.token : await renewed(signal);
        try {
          return await work({ token, signal });
        } catch (error) {
          if (!(error instanceof PeerFailure) || error.status !== 401) throw error;
          if (cached?.token === token && access.now() < plus(cached.since, minAgeMs)) throw error;
          const fresh = cached === undefined || cached.token === token ? await renewed(signal) : cached.token;
          if (fresh === token) throw error;
          return work({ token: fresh, signal });
        }
      }),
  };
}

/** The kind of failure of a call that was not made for lack of a token, by that of the token request. */
const kindWithoutToken: Readonly<Record<PeerFailureKind, PeerFailureKind>> = {
  unreachable: "unreachable",
  unanswered: "unreachable",
  throttled: "throttled",
  unauthorized: "unauthorized",
  missing: "unauthorized",
  refused: "unauthorized",
};

const operation = "access token";

/** Whether a call was not made for lack of an access token. */
export const isNoToken = (failure: PeerFailure): boolean => failure.operation === operation;

function noToken(peer: string, cause: unknown): PeerFailure {
  if (!(cause instanceof PeerFailure)) return new PeerFailure(peer, operation, "unreachable", { cause });
  const isAway = cause.code === "temporarily_unavailable" || cause.code === "server_error";
  return cause.as(isAway ? "unreachable" : kindWithoutToken[cause.kind], { operation });
}
