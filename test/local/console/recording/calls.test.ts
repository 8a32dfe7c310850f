import { expect, test } from "vitest";
import { connectorSettings } from "../../../../lib/connector/settings.ts";
import { seconds } from "../../../../lib/time.ts";
import { longestMs } from "../../../../local/console/recording/calls.ts";

test("a call of the console may take longer than a create and a job on demand", () => {
  const { CREATE_TIMEOUT_SECONDS, JOB_ON_DEMAND_SECONDS } = connectorSettings.shape;
  for (const setting of [CREATE_TIMEOUT_SECONDS, JOB_ON_DEMAND_SECONDS])
    expect(longestMs).toBeGreaterThan(seconds(setting.parse(undefined)));
});
