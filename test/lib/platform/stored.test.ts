import { describe, expect, it } from "vitest";
import { conflict, retryOnConflict } from "../../../lib/platform/stored.ts";

describe("retryOnConflict", () => {
  it("repeats the work until it has no conflict, and returns its result", async () => {
    const results = [conflict, conflict, undefined, "later"] as const;
    let attempts = 0;
    await expect(retryOnConflict(async () => results[attempts++])).resolves.toBeUndefined();
    expect(attempts).toBe(3);
  });

  it("ends with unavailable after 100 conflicts", async () => {
    let attempts = 0;
    const work = async () => {
      attempts += 1;
      return conflict;
    };
    await expect(retryOnConflict(work)).rejects.toMatchObject({ kind: "unavailable", retryAfterSeconds: 1 });
    expect(attempts).toBe(100);
  });
});
