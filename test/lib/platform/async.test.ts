import { getEventListeners } from "node:events";
import { expect, it, vi } from "vitest";
import { withTimeout, withTimeoutSignal } from "../../../lib/platform/async.ts";

it("leaves no listener when the work has ended", async () => {
  const signals: AbortSignal[] = [];
  const remember = async (given: AbortSignal) => {
    signals.push(given);
    return "done";
  };
  expect(await withTimeout(60_000, remember)).toBe("done");
  const failing = withTimeout(60_000, given => remember(given).then(() => Promise.reject(new Error("bad"))));
  await expect(failing).rejects.toThrow("bad");
  expect(signals.map(each => getEventListeners(each, "abort").length)).toEqual([0, 0]);
});

it("leaves no listener on the caller's signal", async () => {
  const { signal } = new AbortController();
  const added = vi.spyOn(signal, "addEventListener");
  const removed = vi.spyOn(signal, "removeEventListener");
  await withTimeoutSignal(1000, signal, async () => {});
  expect(added.mock.calls.map(([, listener]) => listener)).toEqual(removed.mock.calls.map(([, listener]) => listener));
});
