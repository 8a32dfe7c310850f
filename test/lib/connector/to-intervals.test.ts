import { expect, test } from "vitest";
import { connectorSettings } from "../../../lib/connector/settings.ts";
import { toIntervals } from "../../../lib/connector/to-intervals.ts";
import { validSettings } from "../../../lib/settings/read-settings.ts";
import { days, minutes, seconds } from "../../../lib/time.ts";

const settings = validSettings(connectorSettings, {}, connectorSettings.keyof().options) as Parameters<
  typeof toIntervals
>[0];

test("the connector's intervals are the settings in milliseconds", () => {
  const intervals = toIntervals(settings);
  expect(intervals).toMatchObject({
    leaseMs: minutes(3),
    retry: { minMs: minutes(1) },
    reconcileForMs: days(3),
    credentialMaxMs: days(180),
  });
  for (const [name, value] of Object.entries(intervals))
    for (const ms of typeof value === "number" ? [value] : [value.minMs, value.maxMs])
      expect(ms, name).toBeGreaterThanOrEqual(seconds(10));
});

test("a fraction of a second is a whole number of milliseconds", () => {
  expect([seconds(1.001), seconds(0.3), days(0.001)]).toEqual([1001, 300, 86_400]);
});
