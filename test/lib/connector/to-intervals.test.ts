import { expect, test } from "vitest";
import { fixedIntervals } from "../../../lib/connector/model/intervals.ts";
import { connectorSettings, toIntervals } from "../../../lib/connector/settings.ts";
import { validSettings } from "../../../lib/platform/settings/read-settings.ts";
import { days, hours, minutes, seconds } from "../../../lib/platform/time.ts";

const settings = validSettings(connectorSettings, {}) as Parameters<typeof toIntervals>[0];

test("the connector's intervals are the settings in milliseconds", () => {
  const intervals = toIntervals(settings);
  expect(intervals).toMatchObject({ shipmentPoll: { minMs: hours(1) }, retryForMs: days(14), productionMs: days(3) });
  for (const [name, value] of Object.entries(intervals))
    for (const ms of typeof value === "number" ? [value] : [value.minMs, value.maxMs])
      expect(ms, name).toBeGreaterThanOrEqual(seconds(10));
});

test("a fraction of a second is a whole number of milliseconds", () => {
  expect([seconds(1.001), seconds(0.3), days(0.001)]).toEqual([1001, 300, 86_400]);
});

test("a shipment is polled no more often than after the setting", () => {
  const { shipmentPoll } = toIntervals({ ...settings, POLL_AFTER_SECONDS: 86_400 });
  expect(shipmentPoll).toEqual({ minMs: days(1), maxMs: days(1) });
});

const { leaseMs, createMs, deliveryCallMs, eventCallMs, ...fixed } = fixedIntervals;

test("a lease outlasts every call that is made under it", () => {
  const calls = [fixed.idpCallMs, deliveryCallMs, fixed.enrollmentCallMs, fixed.mailCallMs, eventCallMs, createMs];
  expect(leaseMs).toBeGreaterThan(Math.max(...calls));
});

test("no job reconciles or compensates, and no repeat orders again, while the create handler may still run", () => {
  expect(fixed.reconcileAfterMs).toBeGreaterThanOrEqual(fixed.orderIntentMaxAgeMs + deliveryCallMs);
  expect(fixed.receivedMaxAgeMs).toBeGreaterThan(createMs);
  expect(fixed.orphanRowMs).toBeGreaterThan(createMs);
});

test("an Idempotency-Key is kept for longer than an order is reconciled, so that a repeat orders nothing again", () => {
  expect(fixed.claimKeptMs).toBeGreaterThan(fixed.reconcileForMs);
});

test("a run of the event timer, which starts calls for 45 seconds, ends before the next one begins", () => {
  expect(seconds(45) + eventCallMs).toBeLessThanOrEqual(minutes(1));
});
