import type { PeerFailure } from "../../peers/peer-failure.ts";
import type { Instant } from "../../time.ts";
import type { SecurityKey } from "../model/request.ts";

/** One piece of work on a security key: its outcome, or the call that it needs next. Only `runStep` renews the lease and writes. */
export type Step = Outcome | PeerCall;

/** The outcome of a step. */
export interface Outcome {
  /** The change of the security key. After a conflict it is applied again, to the security key as read again. */
  readonly change: (key: SecurityKey) => SecurityKey;
  /** The state of its peer's circuit breaker, if the step has tripped it. */
  readonly tripped?: Partial<CircuitBreaker>;
  /** Why the call failed, if one was made. The number of calls at once to its peer adapts to it. */
  readonly failure?: PeerFailure;
}

/** A call to a peer that may change something there. */
export interface PeerCall {
  /** The name of the peer, by which its calls are limited. */
  readonly peer: string;
  /** The change that records the call before it is made, in the same write as the renewed lease. */
  readonly intent: (key: SecurityKey) => SecurityKey;
  /** Returns the outcome without the call if, when its turn comes, the call must not be made any more. */
  readonly instead?: () => Outcome | undefined;
  /** Milliseconds that the call may take, retries included. The lease outlasts the call. */
  readonly timeLimitMs: number;
  /**
   * Makes the call.
   * @param key the security key as stored with the intent
   * @param notAfter the time after which the call must not start, because it could outlast the lease
   */
  readonly perform: (key: SecurityKey, notAfter: Instant) => Promise<Step>;
}

/** Stops a run's calls to a peer. */
export interface CircuitBreaker {
  /** The peer is throttling: no more calls until then. */
  readonly stoppedUntil?: Instant;
  /** The peer does not accept the connector: no more calls in this run. */
  readonly refused?: boolean;
}
