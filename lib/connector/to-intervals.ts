import { days, hours, seconds } from "../time.ts";
import type { Intervals } from "./model/intervals.ts";
import type { ConnectorSettings } from "./settings.ts";

export const toIntervals = (settings: ConnectorSettings): Intervals => ({
  leaseMs: seconds(settings.LEASE_SECONDS),
  idpCallMs: seconds(settings.IDP_TIMEOUT_SECONDS),
  deliveryCallMs: seconds(settings.DELIVERY_TIMEOUT_SECONDS),
  enrollmentCallMs: seconds(settings.ENROLLMENT_TIMEOUT_SECONDS),
  mailCallMs: seconds(settings.MAIL_TIMEOUT_SECONDS),
  createMs: seconds(settings.CREATE_TIMEOUT_SECONDS),
  orderIntentMaxAgeMs: seconds(settings.ORDER_INTENT_MAX_AGE_SECONDS),
  receivedMaxAgeMs: seconds(settings.RECEIVED_MAX_AGE_SECONDS),
  reconcileAfterMs: seconds(settings.RECONCILE_AFTER_SECONDS),
  reconcileForMs: days(settings.RECONCILE_DAYS),
  shipmentPoll: { minMs: seconds(settings.POLL_AFTER_SECONDS), maxMs: seconds(settings.POLL_MAX_SECONDS) },
  productionMs: days(settings.DELIVERY_PRODUCTION_DAYS),
  enrollmentPoll: {
    minMs: seconds(settings.ENROLLMENT_POLL_AFTER_SECONDS),
    maxMs: seconds(settings.ENROLLMENT_POLL_MAX_SECONDS),
  },
  shipmentMissingMs: seconds(settings.SHIPMENT_MISSING_SECONDS),
  retry: { minMs: seconds(settings.RETRY_MIN_SECONDS), maxMs: seconds(settings.RETRY_MAX_SECONDS) },
  retryForMs: days(settings.RFPR_RETRY_NUMBER_DAYS),
  readBackAfterMs: seconds(settings.READ_BACK_AFTER_SECONDS),
  mailRunningMs: seconds(settings.MAIL_RUNNING_SECONDS),
  eventCallMs: seconds(settings.EVENT_TIMEOUT_SECONDS),
  eventRetry: {
    minMs: seconds(settings.RETRY_MIN_SECONDS),
    maxMs: Math.min(seconds(settings.RETRY_MAX_SECONDS), hours(1)),
  },
  eventRetryForMs: hours(settings.EVENT_RETRY_HOURS),
  credentialMaxMs: days(settings.CREDENTIAL_MAX_DAYS),
  dueStaleMs: seconds(settings.DUE_STALE_SECONDS),
  dueOrphanMs: seconds(settings.DUE_ORPHAN_SECONDS),
  claimRunningMs: seconds(settings.IDEMPOTENCY_RUNNING_SECONDS),
  claimKeptMs: days(settings.IDEMPOTENCY_DAYS),
  jobOnDemandMs: seconds(settings.JOB_ON_DEMAND_SECONDS),
  jobTimerMs: seconds(settings.JOB_TIMER_SECONDS),
});
