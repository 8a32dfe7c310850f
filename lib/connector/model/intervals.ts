import { days, hours, minutes, type Now, seconds } from "../../platform/time.ts";
import type { BackOff } from "./retry.ts";

/**
 * The time limits and intervals that no setting changes, in milliseconds: many depend on each other, and a wrong one
 * would double or lose work. A test checks what they require of each other.
 */
export const fixedIntervals = {
  /** The exclusive right of a job to work on a row. Each call must end before it does. */
  leaseMs: minutes(3),
  /** IdPs usually answer within a second. */
  idpCallMs: seconds(30),
  /** The checks of all users beside a create. They are not necessary, so a create does not wait longer for them. */
  userCheckMs: seconds(10),
  /** Longer than for others, because an order that was not answered waits for `reconcileAfterMs`. */
  deliveryCallMs: seconds(60),
  enrollmentCallMs: seconds(30),
  mailCallMs: seconds(30),
  /** A sink must respond at once. At most 15 seconds: a run of the event timer must end before the next one begins. */
  eventCallMs: seconds(10),
  /** A create with all its calls before the order. Callers get no response from the platform after 230 seconds. */
  createMs: seconds(150),
  /** An older order intent is not sent: a suspended process would order while a job looks the order up. */
  orderIntentMaxAgeMs: seconds(10),
  /** Age at which a request without an order intent is compensated and fails: its create has ended. */
  receivedMaxAgeMs: minutes(5),
  /** Age of an order intent at which the order is looked up: its call has ended, and the service lists it. */
  reconcileAfterMs: minutes(15),
  /** How long an unanswered order is looked up: a weekend without the delivery service. */
  reconcileForMs: days(3),
  /** Maximum time between two polls of a shipment, which takes days. */
  shipmentPollMaxMs: hours(6),
  /**
   * How long a shipped parcel is tracked: longer than post by sea or a customs hold. A parcel without an end then has
   * none in the carrier's data.
   */
  trackForMs: days(30),
  /** Time between two looks at a security key that is replaced. A change of the new keys comes before. */
  replaceCheckMs: hours(1),
  /**
   * Age of a request at which the security key that it replaces is revoked although the new one is not active: it must
   * not stay usable because nobody enrolls the new one.
   */
  replaceForMs: days(30),
  /**
   * The first wait is also that between the start of a request and its first poll. A person enrolls, so it is shorter
   * than for shipments.
   */
  enrollmentPoll: { minMs: minutes(5), maxMs: hours(1) },
  /** How long a shipment must be unknown to count as cancelled: longer than an outage of reads. */
  shipmentMissingMs: days(1),
  /** After a failed call that is no poll. Users wait for it, so it starts short. */
  retry: { minMs: minutes(1), maxMs: hours(6) },
  /** Time between a refused activation and its second read-back: IdPs list new credentials with a delay. */
  readBackAfterMs: minutes(1),
  /** Time between two queries of the status of a running email, which takes seconds to minutes. */
  mailRunningMs: minutes(1),
  /** Age at which a credential without challenge expiry counts as expired. Longer than the challenges of all IdPs. */
  credentialMaxMs: days(180),
  /**
   * Age at which an index row that does not match its request is removed. A host that is slower between index row and
   * row writes both again.
   */
  staleRowMs: minutes(10),
  /** Age at which an index row of no request is removed: its create has ended. */
  orphanRowMs: hours(1),
  /** How long an Idempotency-Key is stored: longer than its order is looked up. */
  claimKeptMs: days(7),
  /** Time budget of a job that a call started: its caller waits for the response. */
  jobOnDemandMs: seconds(100),
  /** Time budget of a job that its timer started. The host ends it after 10 minutes (`functionTimeout`). */
  jobTimerMs: minutes(7),
};

/** The time limits and intervals of the connector, in milliseconds. */
export interface Intervals extends Readonly<typeof fixedIntervals> {
  /** The first wait is also that between the order and the first poll. */
  readonly shipmentPoll: BackOff;
  /** How long after the first poll security keys may still be in production. */
  readonly productionMs: number;
  readonly retryForMs: number;
  /** How long after the end of a request the register keeps its security keys. */
  readonly registerMs: number;
  /** After a failed delivery of an event. */
  readonly eventRetry: BackOff;
  readonly eventRetryForMs: number;
}

/** The current time and the intervals. */
export interface Clock {
  readonly now: Now;
  readonly intervals: Intervals;
}

/**
 * The time from an order to the first poll that can find its security keys programmed. A challenge that ends earlier is
 * of no use for them: the keys would be shipped, and their credentials never activated (C6).
 */
export const shippedChallengeMs = ({ shipmentPoll, productionMs }: Pick<Intervals, "shipmentPoll" | "productionMs">) =>
  shipmentPoll.minMs + productionMs;
