import { expect, it, vi } from "vitest";
import { withTimeoutSignal } from "../../../../lib/platform/async/with-timeout-signal.ts";

it("leaves no listener on the caller's signal", async () => {
  const { signal } = new AbortController();
  const added = vi.spyOn(signal, "addEventListener");
  const removed = vi.spyOn(signal, "removeEventListener");
  await withTimeoutSignal(1000, signal, async () => {});
  expect(added.mock.calls.map(([, listener]) => listener)).toEqual(removed.mock.calls.map(([, listener]) => listener));
});
