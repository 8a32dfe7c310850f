import type { Now } from "../../time.ts";

/** The time limits and intervals of the connector, all in milliseconds. */
export interface Intervals {
  readonly lease: number;
  readonly idpCall: number;
  readonly deliveryCall: number;
  readonly enrollmentCall: number;
  readonly mailCall: number;
  readonly create: number;
  readonly orderIntentMaxAge: number;
  readonly receivedMaxAge: number;
  readonly reconcileAfter: number;
  readonly reconcileFor: number;
  readonly pollAfter: number;
  readonly pollMax: number;
  readonly enrollmentPollAfter: number;
  readonly enrollmentPollMax: number;
  readonly shipmentMissing: number;
  readonly retryMin: number;
  readonly retryMax: number;
  readonly retryFor: number;
  readonly readBackAfter: number;
  readonly mailRunning: number;
  readonly credentialMax: number;
  readonly dueStale: number;
  readonly dueOrphan: number;
  readonly claimRunning: number;
  readonly claimKept: number;
  readonly jobOnDemand: number;
  readonly jobTimer: number;
}

/** The current time and the intervals. */
export interface Clock {
  readonly now: Now;
  readonly intervals: Intervals;
}

/** Returns the wait before the next attempt in milliseconds. It doubles with each attempt from `minMs` up to `maxMs`. */
export const backOffMs = (attempts: number, minMs: number, maxMs: number): number =>
  Math.min(maxMs, minMs * 2 ** Math.min(attempts, 30));
