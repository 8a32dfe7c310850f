import type { PeerFailure } from "../../platform/peers/peer-failure.ts";
import type { Instant } from "../../platform/time.ts";
import type { CredentialRequest } from "../model/request.ts";
import type { SecurityKey } from "../model/security-key.ts";

/** One piece of work on a security key: its outcome, or its next call. Only `runStep` writes. */
export type Step = StepOutcome | PeerRead | PeerCall;

/** What the call that led to a step came to. The calls of the run to its peer adapt to it. */
interface CallResult {
  /** Set if no call was needed: nothing is learned about the peer then. */
  readonly isWithoutCall?: boolean | undefined;
  /** Why the call failed. */
  readonly failure?: PeerFailure | undefined;
  /** Whether the pre-registration API does not accept the connector. The run makes no more calls to it then. */
  readonly isRefused?: boolean | undefined;
}

/** The outcome of a step. */
export interface StepOutcome extends CallResult {
  /** The change of the security key of a request. After a conflict it is applied again, to both as read again. */
  readonly change: (key: SecurityKey, request: CredentialRequest) => SecurityKey;
}

/** A call to a peer that changes nothing there. It needs no lease. */
export interface PeerRead extends CallResult {
  /** The name of the peer, by which its calls are limited. */
  readonly peer: string;
  /** Makes the call. Returns a function that prepares the next step, and why the call failed. */
  readonly read: () => Promise<{ readonly next: () => Promise<Step>; readonly failure?: PeerFailure | undefined }>;
  /**
   * Returns the next step if the run must not call the peer. Without it, or if it returns none, the step is deferred.
   */
  readonly withoutRead?: () => Promise<Step | undefined>;
}

/** A call to a peer that may change something there. */
export interface PeerCall extends CallResult {
  /** The name of the peer, by which its calls are limited. */
  readonly peer: string;
  /** The change that records the call before it is made, in the same write as the renewed lease. */
  readonly intent: (key: SecurityKey) => SecurityKey;
  /** Milliseconds that the call may take, retries included. The lease outlasts the call. */
  readonly timeLimitMs: number;
  /**
   * Makes the call.
   * @param key the security key as stored with the intent
   * @param notAfter the time after which the call must not start, because it could outlast the lease
   */
  readonly perform: (key: SecurityKey, notAfter: Instant) => Promise<Step>;
  /**
   * Returns the next step if the run must not call the peer. Without it, or if it returns none, the step is deferred.
   */
  readonly withoutCall?: () => Step | undefined;
}
