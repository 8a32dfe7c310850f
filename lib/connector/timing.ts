import type { ConnectorSettings } from "./settings.ts";

/** Every interval of the connector's decisions, in milliseconds (decision G9). */
export interface Timing {
  readonly lease: number;
  readonly idpCall: number;
  readonly deliveryCall: number;
  readonly enrollmentCall: number;
  readonly mailCall: number;
  readonly create: number;
  readonly markMaxAge: number;
  readonly receivedMaxAge: number;
  readonly settleAfter: number;
  readonly settleFor: number;
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

export const timingOf = (settings: ConnectorSettings): Timing => ({
  lease: settings.LEASE_SECONDS,
  idpCall: settings.IDP_TIMEOUT_SECONDS,
  deliveryCall: settings.DELIVERY_TIMEOUT_SECONDS,
  enrollmentCall: settings.ENROLLMENT_TIMEOUT_SECONDS,
  mailCall: settings.MAIL_TIMEOUT_SECONDS,
  create: settings.CREATE_TIMEOUT_SECONDS,
  markMaxAge: settings.DELIVERY_MARK_MAX_AGE_SECONDS,
  receivedMaxAge: settings.RECEIVED_MAX_AGE_SECONDS,
  settleAfter: settings.SETTLE_AFTER_SECONDS,
  settleFor: settings.SETTLE_DAYS,
  pollAfter: settings.POLL_AFTER_SECONDS,
  pollMax: settings.POLL_MAX_SECONDS,
  enrollmentPollAfter: settings.ENROLLMENT_POLL_AFTER_SECONDS,
  enrollmentPollMax: settings.ENROLLMENT_POLL_MAX_SECONDS,
  shipmentMissing: settings.SHIPMENT_MISSING_SECONDS,
  retryMin: settings.RETRY_MIN_SECONDS,
  retryMax: settings.RETRY_MAX_SECONDS,
  retryFor: settings.RFPR_RETRY_NUMBER_DAYS,
  readBackAfter: settings.READ_BACK_AFTER_SECONDS,
  mailRunning: settings.MAIL_RUNNING_SECONDS,
  credentialMax: settings.CREDENTIAL_MAX_DAYS,
  dueStale: settings.DUE_STALE_SECONDS,
  dueOrphan: settings.DUE_ORPHAN_SECONDS,
  claimRunning: settings.IDEMPOTENCY_RUNNING_SECONDS,
  claimKept: settings.IDEMPOTENCY_DAYS,
  jobOnDemand: settings.JOB_ON_DEMAND_SECONDS,
  jobTimer: settings.JOB_TIMER_SECONDS,
});

/** The wait before the next try: doubles from `least` with each attempt, up to `most`. Milliseconds. */
export const backOff = (attempts: number, least: number, most: number): number =>
  Math.min(most, least * 2 ** Math.min(attempts, 30));
