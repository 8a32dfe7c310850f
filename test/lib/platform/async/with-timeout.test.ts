import { getEventListeners } from "node:events";
import { describe, expect, it } from "vitest";
import { withTimeout } from "../../../../lib/platform/async/with-timeout.ts";

describe("a time limit", () => {
  it.each([undefined, new AbortController().signal])("leaves no listener when the work has ended", async signal => {
    const signals: AbortSignal[] = [];
    const remember = async (given: AbortSignal) => {
      signals.push(given);
      return "done";
    };
    expect(await withTimeout(60_000, remember, signal)).toBe("done");
    const failing = withTimeout(60_000, given => remember(given).then(() => Promise.reject(new Error("bad"))), signal);
    await expect(failing).rejects.toThrow("bad");
    expect(signals.map(each => getEventListeners(each, "abort").length)).toEqual([0, 0]);
  });
});
