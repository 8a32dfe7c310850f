import { days, hours, seconds } from "../platform/time.ts";
import { fixedIntervals, type Intervals } from "./model/intervals.ts";
import type { ConnectorSettings } from "./settings.ts";

/** @param limits replaces fixed intervals, for tests */
export function toIntervals(settings: ConnectorSettings, limits: object = {}): Intervals {
  const fixed = { ...fixedIntervals, ...limits };
  const pollAfterMs = seconds(settings.POLL_AFTER_SECONDS);
  return {
    ...fixed,
    shipmentPoll: { minMs: pollAfterMs, maxMs: Math.max(pollAfterMs, fixed.shipmentPollMaxMs) },
    productionMs: days(settings.DELIVERY_PRODUCTION_DAYS),
    retryForMs: days(settings.RFPR_RETRY_NUMBER_DAYS),
    registerMs: days(settings.REGISTER_KEEP_DAYS),
    eventRetry: { minMs: fixed.retry.minMs, maxMs: Math.min(fixed.retry.maxMs, hours(1)) },
    eventRetryForMs: hours(settings.EVENT_RETRY_HOURS),
  };
}
