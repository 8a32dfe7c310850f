import type { Now } from "../../time.ts";
import type { BackOff } from "./retry.ts";

/** The time limits and intervals of the connector, all in milliseconds. */
export interface Intervals {
  readonly leaseMs: number;
  readonly idpCallMs: number;
  readonly deliveryCallMs: number;
  readonly enrollmentCallMs: number;
  readonly mailCallMs: number;
  readonly createMs: number;
  readonly orderIntentMaxAgeMs: number;
  readonly receivedMaxAgeMs: number;
  readonly reconcileAfterMs: number;
  readonly reconcileForMs: number;
  /** The first wait is also that between the order and the first poll. */
  readonly shipmentPoll: BackOff;
  /** How long after the first poll security keys may still be in production. */
  readonly productionMs: number;
  /** The first wait is also that between the start of a request and its first poll. */
  readonly enrollmentPoll: BackOff;
  readonly shipmentMissingMs: number;
  /** After a failed call that is no poll. */
  readonly retry: BackOff;
  readonly retryForMs: number;
  readonly readBackAfterMs: number;
  readonly mailRunningMs: number;
  readonly eventCallMs: number;
  /** After a failed delivery of an event. */
  readonly eventRetry: BackOff;
  readonly eventRetryForMs: number;
  readonly credentialMaxMs: number;
  readonly dueStaleMs: number;
  readonly dueOrphanMs: number;
  readonly claimRunningMs: number;
  readonly claimKeptMs: number;
  readonly jobOnDemandMs: number;
  readonly jobTimerMs: number;
}

/** The current time and the intervals. */
export interface Clock {
  readonly now: Now;
  readonly intervals: Intervals;
}
