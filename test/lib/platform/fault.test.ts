import { describe, expect, it } from "vitest";
import { Fault } from "../../../lib/platform/fault.ts";

describe("a refusal", () => {
  it("carries its kind, all wrong fields, the time to wait and what it comes from", () => {
    const cause = new Error("why");
    const problems = [{ path: "a", reason: "is required" }];
    const fault = new Fault("invalid", "No.", { problems, retryAfterSeconds: 3, data: { code: 1 }, cause });
    expect(fault).toBeInstanceOf(Error);
    expect(fault).toMatchObject({
      name: "Fault",
      kind: "invalid",
      message: "No.",
      problems,
      retryAfterSeconds: 3,
      data: { code: 1 },
      cause,
    });
  });

  it("has none of them unless they are given", () => {
    const fault = new Fault("internal", "No.");
    expect(fault).toMatchObject({ problems: [], retryAfterSeconds: undefined, data: undefined });
    expect(fault).not.toHaveProperty("cause");
  });
});
