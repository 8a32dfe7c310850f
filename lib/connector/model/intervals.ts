import type { Now } from "../../time.ts";

/** Every interval of the connector's decisions, in milliseconds (decision G9). */
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

/** The present time and the intervals. */
export interface Clock {
  readonly now: Now;
  readonly intervals: Intervals;
}

/** The wait before the next try: doubles from `least` with each attempt, up to `most`. Milliseconds. */
export const backOffMs = (attempts: number, least: number, most: number): number =>
  Math.min(most, least * 2 ** Math.min(attempts, 30));
