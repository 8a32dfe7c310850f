import { days, seconds } from "../time.ts";
import type { Intervals } from "./model/intervals.ts";
import type { ConnectorSettings } from "./settings.ts";

export const intervalsOf = (settings: ConnectorSettings): Intervals => ({
  lease: seconds(settings.LEASE_SECONDS),
  idpCall: seconds(settings.IDP_TIMEOUT_SECONDS),
  deliveryCall: seconds(settings.DELIVERY_TIMEOUT_SECONDS),
  enrollmentCall: seconds(settings.ENROLLMENT_TIMEOUT_SECONDS),
  mailCall: seconds(settings.MAIL_TIMEOUT_SECONDS),
  create: seconds(settings.CREATE_TIMEOUT_SECONDS),
  orderIntentMaxAge: seconds(settings.ORDER_INTENT_MAX_AGE_SECONDS),
  receivedMaxAge: seconds(settings.RECEIVED_MAX_AGE_SECONDS),
  reconcileAfter: seconds(settings.RECONCILE_AFTER_SECONDS),
  reconcileFor: days(settings.RECONCILE_DAYS),
  shipmentPoll: { minMs: seconds(settings.POLL_AFTER_SECONDS), maxMs: seconds(settings.POLL_MAX_SECONDS) },
  enrollmentPoll: {
    minMs: seconds(settings.ENROLLMENT_POLL_AFTER_SECONDS),
    maxMs: seconds(settings.ENROLLMENT_POLL_MAX_SECONDS),
  },
  shipmentMissing: seconds(settings.SHIPMENT_MISSING_SECONDS),
  retry: { minMs: seconds(settings.RETRY_MIN_SECONDS), maxMs: seconds(settings.RETRY_MAX_SECONDS) },
  retryFor: days(settings.RFPR_RETRY_NUMBER_DAYS),
  readBackAfter: seconds(settings.READ_BACK_AFTER_SECONDS),
  mailRunning: seconds(settings.MAIL_RUNNING_SECONDS),
  credentialMax: days(settings.CREDENTIAL_MAX_DAYS),
  dueStale: seconds(settings.DUE_STALE_SECONDS),
  dueOrphan: seconds(settings.DUE_ORPHAN_SECONDS),
  claimRunning: seconds(settings.IDEMPOTENCY_RUNNING_SECONDS),
  claimKept: days(settings.IDEMPOTENCY_DAYS),
  jobOnDemand: seconds(settings.JOB_ON_DEMAND_SECONDS),
  jobTimer: seconds(settings.JOB_TIMER_SECONDS),
});
