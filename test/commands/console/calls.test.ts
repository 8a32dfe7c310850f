import { expect, test } from "vitest";
import { enveloped, longestMs, outcomeOf } from "../../../commands/console/calls.ts";
import { fixedIntervals } from "../../../lib/connector/model/intervals.ts";
import { startPeer } from "../../../local/peers/peer.ts";
import { deadAddress } from "../../support/dead-address.ts";
import { atEndOfFile } from "../../support/run/end-of-file.ts";

test("a call of the console may take longer than a create and a job on demand", () => {
  const { createMs, jobOnDemandMs } = fixedIntervals;
  expect(longestMs).toBeGreaterThan(Math.max(createMs, jobOnDemandMs));
});

test("a call that changes something may have been done where a connection ends before the answer", async () => {
  const api = await startPeer("API", { handle: () => ({ status: 200 }) });
  atEndOfFile(() => api.close());
  const errorOf = async (method: string, url = api.url) => {
    api.clearFaults();
    api.fail({ kind: "drop", phase: "after" });
    const { body } = await enveloped("The API", method, () => outcomeOf(url, { method }, new AbortController().signal));
    return (body as { readonly error: string }).error;
  };
  expect(await errorOf("POST")).toMatch(
    /^The API did not respond: .+\. It may have been done: look before you repeat it\.$/,
  );
  expect(await errorOf("GET")).toMatch(/^The API is not responding: [^.]+$/);
  expect(await errorOf("POST", deadAddress)).toMatch(/^The API is not responding: .*ECONNREFUSED/);
});
