import type { Instant } from "../../time.ts";
import type { SecurityKey } from "./request.ts";

/**
 * One piece of work on a security key: what became of it, or the call that is to be made for it. A step reads and calls; `runStep`
 * alone renews the lease and writes.
 */
export type Step = Outcome | Call;

/** What became of a step. */
export interface Outcome {
  /** Applied to the security key as it is when it is written: after a conflict the key is read again. */
  readonly change: (key: SecurityKey) => SecurityKey;
  /** What the step has learned of the peer that all security keys share. */
  readonly tripped?: Partial<CircuitBreaker>;
}

/** A call to a peer that may change something there. */
export interface Call {
  /** What is stored of the call before it is made, in the same write as the renewed lease (decision C15). */
  readonly intent: (key: SecurityKey) => SecurityKey;
  /** Milliseconds that the call may take, retries included. The lease outlasts the call. */
  readonly timeLimitMs: number;
  /**
   * Makes the call.
   * @param key the security key as stored with the intent
   * @param notAfter the call must not start later, else it could outlast the lease
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
