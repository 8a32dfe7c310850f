import type { Now } from "../../time.ts";
import type { BackOff } from "./retry.ts";

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
  /** The first wait is also that between the order and the first poll. */
  readonly shipmentPoll: BackOff;
  /** The first wait is also that between the start of a request and its first poll. */
  readonly enrollmentPoll: BackOff;
  readonly shipmentMissing: number;
  /** After a failed call that is no poll. */
  readonly retry: BackOff;
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
