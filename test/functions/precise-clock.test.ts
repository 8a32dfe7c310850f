import { expect, it } from "vitest";
import { createPreciseClock } from "../../functions/precise-clock.ts";

const start = Date.parse("2026-11-01T12:00:00Z");

it("returns the system's time with a fraction", () => {
  let elapsed = 1000;
  const clock = createPreciseClock(
    () => start + Math.floor(elapsed - 1000),
    () => elapsed,
  );
  elapsed += 0.25;
  expect(clock()).toBe(start + 0.25);
  elapsed += 90_000.5;
  expect(clock()).toBe(start + 90_000.75);
});

it.each([3_600_000, -3_600_000, 51])("follows the system's clock after a difference of %d ms", difference => {
  let system = start;
  let elapsed = 5;
  const clock = createPreciseClock(
    () => system,
    () => elapsed,
  );
  system += difference;
  expect(clock()).toBe(start + difference);
  system += 10;
  elapsed += 10.5;
  expect(clock()).toBe(start + difference + 10.5);
});
