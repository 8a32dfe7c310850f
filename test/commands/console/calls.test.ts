import { expect, test } from "vitest";
import { longestMs } from "../../../commands/console/calls.ts";
import { fixedIntervals } from "../../../lib/connector/model/intervals.ts";

test("a call of the console may take longer than a create and a job on demand", () => {
  const { createMs, jobOnDemandMs } = fixedIntervals;
  expect(longestMs).toBeGreaterThan(Math.max(createMs, jobOnDemandMs));
});
